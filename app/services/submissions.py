"""Taking submissions in, reading them, waiting for them, cancelling them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.auth import current_project
from app.context import Context
from app.error_codes import ErrorCode
from app.problems import FieldError, Problem
from app.services.tasks import servable
from app.services.views import submission_view
from grading import jobs, queries
from grading.jobs import Idempotency, NewSubmission
from grading.models import Submission
from grading.states import Priority, SubmissionStatus


@dataclass(frozen=True)
class Answer:
    """`crowded`: too many requests wait already, so this one was answered at once."""

    view: dict[str, Any]
    finished: bool
    replayed: bool = False
    crowded: bool = False


def submit(ctx: Context, args: dict[str, Any], idempotency: Idempotency | None, wait_s: float) -> Answer:
    """Record a submission, ring for it, and wait up to `wait_s` for its end. Raises Problem or DomainError."""
    _require_size(args["code"], ctx.settings.limits.source_bytes)
    if "task_id" in args:
        servable(ctx, args["task_id"])
    new = NewSubmission(
        project_id=current_project(),
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
    )
    created = jobs.submit(ctx.db, ctx.secret, new, idempotency)
    if not created.replayed:
        ctx.bells.ring_for(created.row.id)
        ctx.log.lifecycle("queued", created.row)
    return _wait(ctx, created.row, wait_s, replayed=created.replayed)


def get_submission(ctx: Context, submission_id: str, wait_s: float) -> Answer:
    """The submission, at its end or after `wait_s`, whichever comes first. Raises NotFound."""
    return _wait(ctx, _read(ctx, submission_id), wait_s)


def get_code(ctx: Context, submission_id: str) -> str:
    """The source as it was sent. Raises NotFound."""
    return _read(ctx, submission_id).code


def cancel_submission(ctx: Context, submission_id: str) -> dict[str, Any]:
    """Stop it, also while it runs; one that has ended stays as it is. Raises NotFound."""
    row = jobs.cancel_submission(ctx.db, current_project(), submission_id)
    announce_cancelled(ctx, [row])
    return submission_view(row)


def announce_cancelled(ctx: Context, rows: Iterable[Submission]) -> None:
    """After the commit: have runners killed and waiters woken for those that a cancellation has ended."""
    for row in rows:
        if row.status is SubmissionStatus.CANCELLED:
            ctx.hints.cancelled(row)
            ctx.log.lifecycle("cancelled", row)


def _read(ctx: Context, submission_id: str) -> Submission:
    with ctx.db.read() as session:
        return queries.submission(session, current_project(), submission_id)


def _wait(ctx: Context, row: Submission, wait_s: float, *, replayed: bool = False) -> Answer:
    crowded = False
    if wait_s > 0 and not row.status.finished:
        with ctx.waiters.ticket(row.id) as ticket:
            row = _read(ctx, row.id)  # once more: it may have ended before the ticket was there
            crowded = ticket is None
            if ticket is not None and not row.status.finished:
                row = ticket.wait(wait_s) or _read(ctx, row.id)
    queue = None if row.status.finished else ctx.queue.estimate(row)
    return Answer(submission_view(row, queue), row.status.finished, replayed, crowded)


def _require_size(code: str, limit_bytes: int) -> None:
    size = len(code.encode())
    if size > limit_bytes:
        detail = f"The source has {size} bytes; at most {limit_bytes} are taken."
        raise Problem(ErrorCode.CODE_TOO_LARGE, detail, errors=[FieldError("#/code", detail)])
