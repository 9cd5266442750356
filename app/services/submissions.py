"""Taking submissions in, waiting for them, cancelling them, grading them again."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.auth import current_project, identity
from app.context import Context
from app.error_codes import ErrorCode
from app.problems import FieldError, Problem
from app.services.tasks import servable
from app.services.views import submission_view
from app.services.waiting import Wait, wait_for
from grading import jobs, queries
from grading.jobs import Idempotency, NewSubmission
from grading.models import Episode, Submission
from grading.states import Priority, SubmissionStatus


@dataclass(frozen=True)
class Answer:
    """`crowded`: too many requests wait already, so this one was answered at once."""

    view: dict[str, Any]
    finished: bool
    replayed: bool = False
    crowded: bool = False


def submit(ctx: Context, args: dict[str, Any], idempotency: Idempotency | None, wait: Wait) -> Answer:
    """Record a submission, ring for it, and wait for its end. Raises Problem or DomainError."""
    created = jobs.submit(ctx.db, ctx.secret, new_submission(ctx, args), idempotency)
    if not created.replayed:
        announce_new(ctx, [created.row])
    if wait.seconds <= 0:
        return _answer(ctx, created.row, replayed=created.replayed)
    return _waited(ctx, created.row.id, wait, replayed=created.replayed)


def new_submission(ctx: Context, args: dict[str, Any]) -> NewSubmission:
    """What a valid body asks for. Raises Problem for a source that is too large and for an unknown task."""
    _require_size(args["code"], ctx.settings.limits.source_bytes)
    if "task_id" in args:
        servable(ctx, args["task_id"])
    sender = identity()
    return NewSubmission(
        project_id=sender.project_id,
        code=args["code"],
        episode_id=args.get("episode_id"),
        task_id=args.get("task_id"),
        turn=args.get("turn"),
        language=args.get("language"),
        reward_mode=ctx.settings.reward,
        partial_credit=ctx.settings.partial_credit,
        priority=Priority[args["priority"].upper()],
        gpu_kind=args.get("gpu"),
        deadline_s=args.get("deadline_s", ctx.settings.deadline_s),
        run_id=args.get("run_id"),
        labels=args.get("labels", {}),
        dedupe=args["dedupe"] == "run",
        key_id=sender.key_id,
        in_flight_max=sender.in_flight_max,
    )


def get_submission(ctx: Context, submission_id: str, wait: Wait) -> Answer:
    """The submission, at its end or after the wait, whichever comes first. Raises NotFound."""
    return _waited(ctx, submission_id, wait)


def cancel_submission(ctx: Context, submission_id: str) -> dict[str, Any]:
    """Stop it, also while it runs; one that has ended stays as it is. Raises NotFound."""
    row = jobs.cancel_submission(ctx.db, current_project(), submission_id)
    announce_cancelled(ctx, [row])
    return submission_view(row)


def regrade(ctx: Context, submission_id: str, idempotency: Idempotency | None) -> Answer:
    """Queue a new grade beside the old one. Raises NotFound or NotFinished."""
    created = jobs.regrade(
        ctx.db,
        ctx.secret,
        current_project(),
        submission_id,
        deadline_s=ctx.settings.deadline_s,
        key_id=identity().key_id,
        idempotency=idempotency,
    )
    if not created.replayed:
        announce_new(ctx, [created.row])
    return _answer(ctx, created.row, replayed=created.replayed)


def announce_new(ctx: Context, rows: Iterable[Submission]) -> None:
    """After the commit: ring for what waits, and tell of what a reused verdict has ended."""
    for row in rows:
        if row.status.finished:
            ctx.hints.ended(row)
            ctx.log.step(row, _episode(ctx, row))
        else:
            ctx.bells.ring_for(row.id)
            ctx.log.lifecycle("queued", row)


def announce_cancelled(ctx: Context, rows: Iterable[Submission]) -> None:
    """After the commit: have runners killed and waiters woken for those that a cancellation has ended."""
    for row in rows:
        if row.status is SubmissionStatus.CANCELLED:
            ctx.hints.cancelled(row)
            ctx.log.lifecycle("cancelled", row)


def _episode(ctx: Context, row: Submission) -> Episode | None:
    if row.episode_id is None:
        return None
    with ctx.db.read() as session:
        return session.get(Episode, row.episode_id)


def _read(ctx: Context, submission_id: str) -> Submission:
    with ctx.db.read() as session:
        return queries.submission(session, current_project(), submission_id)


def _waited(ctx: Context, submission_id: str, wait: Wait, *, replayed: bool = False) -> Answer:
    row, crowded = wait_for(
        ctx, ctx.waiters, submission_id, wait, lambda: _read(ctx, submission_id), lambda found: found.status.finished
    )
    return _answer(ctx, row, replayed=replayed, crowded=crowded)


def _answer(ctx: Context, row: Submission, *, replayed: bool = False, crowded: bool = False) -> Answer:
    queue = None if row.status.finished else ctx.queue.estimate(row)
    return Answer(submission_view(row, queue), row.status.finished, replayed, crowded)


def _require_size(code: str, limit_bytes: int) -> None:
    size = len(code.encode())
    if size > limit_bytes:
        detail = f"The source has {size} bytes; at most {limit_bytes} are taken."
        raise Problem(ErrorCode.CODE_TOO_LARGE, detail, errors=[FieldError("#/code", detail)])
