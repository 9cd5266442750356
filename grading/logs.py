"""Logs, one line per event: for operators on standard output, for trainers in `KERNEL_ENV_EVAL_LOG`.

Standard output gets JSON; a terminal gets coloured text (`NO_COLOR`: without colours). The file always gets JSON.
"""

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

import structlog

from grading.clock import to_rfc3339
from grading.jobs.text import storable
from grading.models import Episode, Submission
from grading.settings import Settings

FEEDBACK_HEAD = 500


def set_up(settings: Settings) -> None:
    """Send structlog and the standard library's logging to standard output."""
    level = getattr(logging, settings.log_level.upper())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(terminal=sys.stdout.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def _renderer(*, terminal: bool) -> Any:
    if not terminal:
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    colors = not os.environ.get("NO_COLOR")
    return structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)


class EvaluationLog:
    """The lifecycle of episodes and submissions, one JSON line each, to standard output and a file of the user's.

    Several processes append to the same file: each line is one write, which the kernel keeps whole.
    """

    def __init__(self, path: Path | None) -> None:
        self._log = structlog.get_logger("evaluation")
        self._lock = threading.Lock()
        self._file: int | None = None
        self._path = path

    def reset(self, episode: Episode) -> None:
        """An episode was opened."""
        self._write("reset", _episode_fields(episode))

    def step(self, submission: Submission, episode: Episode | None) -> None:
        """A verdict was reached."""
        fields = _submission_fields(submission)
        if episode is not None:
            fields |= {"max_turns": episode.max_turns, "done": episode.done, "best_speedup": episode.best_speedup}
        self._write("step", fields)

    def lifecycle(self, what: str, submission: Submission, **more: Any) -> None:
        """Anything else that happened to a submission: queued, claimed, retried, failed, cancelled, expired."""
        self._write(what, _submission_fields(submission) | more)

    def _write(self, event: str, fields: dict[str, Any]) -> None:
        clean = {name: storable(value) for name, value in fields.items()}
        self._log.info(event, **clean)
        if self._path is None:
            return
        line = json.dumps({"event": event, **clean}, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            self._append(self._path, line)
        except OSError as error:  # a full disk must not cost what was claimed, committed or about to be announced
            self._log.error("evaluation_log_not_written", error=repr(error))

    def _append(self, path: Path, line: str) -> None:
        with self._lock:
            if self._file is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.write(self._file, line.encode())


def _episode_fields(episode: Episode) -> dict[str, Any]:
    return {
        "episode_id": episode.id,
        "task_id": episode.task_id,
        "split": episode.split,
        "language": episode.language,
        "turn": episode.turn,
        "max_turns": episode.max_turns,
        "run_id": episode.run_id,
        "labels": episode.labels,
        "created_at": to_rfc3339(episode.created_at_ms),
    }


def _submission_fields(row: Submission) -> dict[str, Any]:
    result, environment = row.result or {}, row.environment or {}
    return {
        "submission_id": row.id,
        "episode_id": row.episode_id,
        "task_id": row.task_id,
        "run_id": row.run_id,
        "labels": row.labels,
        "turn": row.turn,
        "attempt": row.attempt,
        "status": str(row.status),
        "stage": None if row.stage is None else str(row.stage),
        "verdict": None if row.verdict is None else str(row.verdict),
        "reward": row.reward,
        "speedup": result.get("speedup"),
        "max_abs_err": result.get("max_abs_err"),
        "roofline_frac": result.get("roofline_frac"),
        "roofline_violation": result.get("roofline_violation"),
        "suspicious": result.get("suspicious"),
        "gpu": environment.get("gpu"),
        "gpu_id": row.slot_id,
        "queue_wait_s": seconds(row.created_at_ms, row.started_at_ms),
        "eval_s": seconds(row.claimed_at_ms or row.build_claimed_at_ms, row.finished_at_ms),
        "phases": row.phases,
        "code_sha": row.code_sha,
        "feedback": (result.get("feedback") or "")[:FEEDBACK_HEAD],
        "error_code": row.error_code,
        "created_at": to_rfc3339(row.created_at_ms),
        "started_at": to_rfc3339(row.started_at_ms),
        "finished_at": to_rfc3339(row.finished_at_ms),
    }


def seconds(start_ms: int | None, end_ms: int | None) -> float | None:
    """The time between two stamps, or None where one of them is missing."""
    return None if start_ms is None or end_ms is None else (end_ms - start_ms) / 1000
