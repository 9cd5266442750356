"""Rows as the API's objects: plain dictionaries for the schemas."""

from collections.abc import Sequence
from typing import Any

from evaluator.prompts import follow_up
from evaluator.verdicts import Verdict
from grading.clock import to_rfc3339
from grading.models import Attempt, Episode, Submission
from grading.states import Priority


def seconds_between(start_ms: int | None, end_ms: int | None) -> float | None:
    """The span in seconds, or None where one end is not known yet."""
    if start_ms is None or end_ms is None:
        return None
    return max(end_ms - start_ms, 0) / 1000


def submission_view(row: Submission, queue: dict[str, Any] | None = None) -> dict[str, Any]:
    """`queue` is the estimate for a waiting row, else None."""
    return {
        "id": row.id,
        "status": row.status,
        "stage": row.stage,
        "verdict": row.verdict,
        "reward": row.reward,
        "episode_id": row.episode_id,
        "task_id": row.task_id,
        "language": row.language,
        "turn": row.turn,
        "attempt": row.attempt,
        "phase": row.phase,
        "priority": Priority(row.priority).name.lower(),
        "gpu": row.gpu_kind,
        "run_id": row.run_id,
        "batch_id": row.batch_id,
        "custom_id": row.custom_id,
        "labels": row.labels,
        "queue": queue,
        "result": None if row.result is None else {"rules": [], **row.result},  # older releases named no rules
        "environment": row.environment,
        "timings": {
            "queue_wait_s": seconds_between(row.created_at_ms, row.started_at_ms),
            "eval_s": seconds_between(row.claimed_at_ms or row.build_claimed_at_ms, row.finished_at_ms),
            "phases": row.phases or {},
        },
        "code_sha": row.code_sha,
        "deduped_from": row.deduped_from,
        "regrade_of": row.regrade_of,
        "error": _error(row),
        "created_at": to_rfc3339(row.created_at_ms),
        "started_at": to_rfc3339(row.started_at_ms),
        "finished_at": to_rfc3339(row.finished_at_ms),
        "deadline_at": to_rfc3339(row.deadline_at_ms),
    }


def _error(row: Submission) -> dict[str, Any] | None:
    if row.error_code is None:
        return None
    return {
        "code": row.error_code,
        "title": row.error_title,
        "detail": row.error_detail,
        "retryable": bool(row.error_retryable),
    }


def attempt_view(row: Attempt) -> dict[str, Any]:
    return {
        "number": row.number,
        "kind": row.kind,
        "slot_id": row.slot_id,
        "outcome": row.outcome,
        "code": row.code,
        "detail": row.detail,
        "started_at": to_rfc3339(row.started_at_ms),
        "ended_at": to_rfc3339(row.ended_at_ms),
    }


def turn_view(row: Submission) -> dict[str, Any]:
    """One entry of an episode's history, from a submission with a verdict."""
    result = row.result or {}
    return {
        "turn": row.turn,
        "submission_id": row.id,
        "stage": row.stage,
        "verdict": row.verdict,
        "speedup": result.get("speedup"),
        "reward": row.reward,
        "roofline_frac": result.get("roofline_frac"),
        "roofline_violation": result.get("roofline_violation", False),
        "suspicious": result.get("suspicious", False),
        "gpu_id": (row.environment or {}).get("gpu_id"),
        "queue_wait_s": seconds_between(row.created_at_ms, row.started_at_ms),
        "eval_s": seconds_between(row.claimed_at_ms or row.build_claimed_at_ms, row.finished_at_ms),
        "code_sha": row.code_sha,
        "phases": row.phases or {},
    }


def _next_prompt(row: Episode, history: Sequence[Submission]) -> str | None:
    """The message for the turn that is to come; None before the first verdict and after the last turn."""
    if row.done or not history or history[-1].verdict is None:
        return None
    return follow_up(
        Verdict(history[-1].verdict),
        history[-1].result or {},
        turn=row.turn,
        max_turns=row.max_turns,
        best_speedup=row.best_speedup,
    )


def episode_view(row: Episode, history: Sequence[Submission]) -> dict[str, Any]:
    """`history` holds the submissions with a verdict, by turn."""
    return {
        "id": row.id,
        "status": row.status,
        "task_id": row.task_id,
        "split": row.split,
        "seed": row.seed,
        "language": row.language,
        "problem": row.problem,
        "turn": row.turn,
        "max_turns": row.max_turns,
        "done": row.done,
        "best_speedup": row.best_speedup,
        "reward": row.reward_mode,
        "run_id": row.run_id,
        "labels": row.labels,
        "history": [turn_view(submission) for submission in history],
        "next_prompt": _next_prompt(row, history),
        "created_at": to_rfc3339(row.created_at_ms),
        "finished_at": to_rfc3339(row.finished_at_ms),
    }
