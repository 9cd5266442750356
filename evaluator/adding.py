"""Takes a task of one's own into the set: its format, its audit, its time and memory, then it is served."""

import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.report import Report
from evaluator.submission import Submission
from evaluator.tasks import BadTaskId, Catalogue, Task, TaskError, TaskSetError, source_for
from evaluator.tasks.audits import AUDIT_FILE, Audit
from evaluator.tasks.audits.store import read_audits, write_audits
from evaluator.tasks.task import parse_task_id

TOO_SHORT_MS = 0.01


class Refused(TaskError):
    """The file is no task that can be served; the text says why and what to change."""


@dataclass(frozen=True)
class Added:
    """What was found of a task that is served from the next start on."""

    task: Task
    audit: Audit
    report: Report
    notes: tuple[str, ...]


def add_task(
    file: Path, task_id: str | None, config: EvaluatorConfig, added_dir: Path, say: Callable[[str], None]
) -> Added:
    """Check one file and copy it to `added_dir`. Raises Refused, and GraderFault where the judge itself fails.

    `task_id` is by default what folder and file are called, such as `level1/901_Mine`.
    """
    name = task_id or f"{file.resolve().parent.name}/{file.stem}"
    with tempfile.TemporaryDirectory(prefix="task-") as folder:
        staging = Path(folder)
        say("format")
        task = _staged(file, name, staging)
        _require_new(task, config, added_dir)
        say("audit")
        audit = _audited(task, config, staging)
        say("time and memory")
        report = _graded(task, config, staging)
        _install(task, audit, added_dir)
        return Added(task, audit, report, (*audit.findings, *_notes(report)))


def _staged(file: Path, name: str, staging: Path) -> Task:
    try:
        parse_task_id(name)
    except BadTaskId as error:
        raise Refused(f"{error}: give one with --id, such as level1/901_Mine") from None
    target = staging / f"{name}.py"
    target.parent.mkdir(parents=True)
    try:
        shutil.copyfile(file, target)
    except OSError as error:
        raise Refused(f"{file}: {error.strerror}") from error
    task = Catalogue(staging).get(name)
    if task.problems:
        raise Refused(f"{file}: it {'; it '.join(task.problems)}")
    return task


def _require_new(task: Task, config: EvaluatorConfig, added_dir: Path) -> None:
    """Another text under a name that has verdicts would make them incomparable."""
    try:
        known = Catalogue(config.tasks_dir, added_dir)
    except TaskSetError:
        return
    if any(task.task_id == other.task_id for other in known):
        raise Refused(f"there is a task {task.task_id} already: give another id with --id")


def _audited(task: Task, config: EvaluatorConfig, staging: Path) -> Audit:
    """In a process of its own, since it loads torch and runs the task."""
    command = [sys.executable, "-m", "evaluator.audit", task.task_id, "--tasks-dir", str(staging)]
    device = "gpu" if config.kind == "gpu" else "cpu"
    done = subprocess.run(
        [*command, "--out", str(staging), "--device", device], capture_output=True, text=True, check=False
    )
    found = read_audits(staging / AUDIT_FILE) if (staging / AUDIT_FILE).exists() else ()
    if not found:
        raise GraderFault("audit_failed", done.stderr.strip()[-2000:], retryable=False)
    if found[0].failures:
        raise Refused(f"{task.task_id} fails its audit: {'; '.join(found[0].failures)}")
    return found[0]


def _graded(task: Task, config: EvaluatorConfig, staging: Path) -> Report:
    """The reference held against itself, as every submission will be held against it."""
    settings = replace(
        config, tasks_dir=str(staging), added_tasks_dir=None, state_dir=str(staging / "state"), lanes=1, audit=True
    )
    judge = JudgeProcess(settings)
    judge.start()
    client = JudgeClient(judge.socket_path, settings)
    try:
        source = source_for(task, "cuda" if config.kind == "gpu" else "cpu")
        submission = Submission("added", task.task_id, source, "triton", secrets.token_hex(32))
        report = client.evaluate(submission, lambda phase: None)
    except GraderFault as fault:
        raise Refused(f"{task.task_id} cannot be graded here: {fault.detail}") from fault
    finally:
        client.close()
        judge.close()
    if not report.correct:
        raise Refused(f"{task.task_id}: graded against itself the reference is {report.verdict}: {report.feedback}")
    return report


def _notes(report: Report) -> tuple[str, ...]:
    if report.timing is not None and report.timing.t_ref_ms < TOO_SHORT_MS:
        return (f"the reference takes {report.timing.t_ref_ms * 1e3:.1f} us, which is too little to time well",)
    return ()


def _install(task: Task, audit: Audit, added_dir: Path) -> None:
    """The audit first: a task without it would be served as one that nobody has looked at."""
    file = added_dir / AUDIT_FILE
    known = {other.sha256: other for other in (read_audits(file) if file.exists() else ())}
    write_audits(file, {**known, audit.sha256: audit}.values())
    target = added_dir / f"{task.task_id}.py"
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    shutil.copyfile(task.path, partial)
    partial.replace(target)
