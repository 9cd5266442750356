"""Batches: taken in at once, drained by cursor in the order in which their items end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.auth import current_project
from app.batch_items import parse_items
from app.context import Context
from app.problems import domain_problem
from app.services.submissions import Answer, announce_cancelled, announce_new
from app.services.views import submission_view
from app.services.waiting import Wait, wait_for
from grading import jobs, queries
from grading.clock import to_rfc3339
from grading.jobs import Idempotency, NewBatch
from grading.models import Batch, Submission
from grading.states import SubmissionStatus


@dataclass(frozen=True)
class Until:
    """What a request waits for: all endings, or any after the first `cursor`."""

    what: str = "all"
    cursor: int = 0

    def suffices(self, batch: Batch) -> bool:
        return batch.endings >= batch.size or (self.what == "any" and batch.endings > self.cursor)


def create_batch(
    ctx: Context, args: dict[str, Any], idempotency: Idempotency | None, wait: Wait, until: Until
) -> Answer:
    """Record a batch, ring for what was accepted, and wait. Raises DomainError."""
    items, refused = parse_items(ctx, args)
    new = NewBatch(current_project(), items, refused, args.get("run_id"))
    created = jobs.create_batch(ctx.db, ctx.secret, new, idempotency)
    announce_new(ctx, created.accepted)
    answer = _waited(ctx, created.row.id, wait, until, replayed=created.replayed)
    with ctx.db.read() as session:
        answer.view["items"] = _places(session, created.row)
    return answer


def get_batch(ctx: Context, batch_id: str, wait: Wait, until: Until) -> Answer:
    """The batch with its endings after the cursor. Raises NotFound."""
    return _waited(ctx, batch_id, wait, until)


def cancel_batch(ctx: Context, batch_id: str) -> dict[str, Any]:
    """Cancel what has not ended of it. Raises NotFound."""
    announce_cancelled(ctx, jobs.cancel_batch(ctx.db, current_project(), batch_id))
    return get_batch(ctx, batch_id, Wait(), Until()).view


def _reader(ctx: Context, batch_id: str) -> Callable[[], Batch]:
    project_id = current_project()

    def read() -> Batch:
        with ctx.db.read() as session:
            return queries.batch(session, project_id, batch_id)

    return read


def _waited(ctx: Context, batch_id: str, wait: Wait, until: Until, *, replayed: bool = False) -> Answer:
    _, crowded = wait_for(ctx, ctx.batch_waiters, batch_id, wait, _reader(ctx, batch_id), until.suffices)
    with ctx.db.read() as session:
        row = queries.batch(session, current_project(), batch_id)
        view = _view(ctx, session, row, until.cursor)
    return Answer(view, row.endings >= row.size, replayed, crowded)


def _view(ctx: Context, session: Session, row: Batch, cursor: int) -> dict[str, Any]:
    data = [_refusal_ending(index, entry) for index, entry in row.refused.items() if entry["ending"] > cursor]
    ended = session.scalars(
        select(Submission)
        .where(Submission.batch_id == row.id, Submission.batch_ending > cursor)
        .options(*queries.WITHOUT_SOURCE)
    )
    data += [_ending(submission) for submission in ended]
    data.sort(key=lambda entry: int(entry["ending"]))
    read_to = data[-1]["ending"] if data else cursor
    finished = row.endings >= row.size
    return {
        "id": row.id,
        "status": "finished" if finished else "active",
        "size": row.size,
        "ended": row.endings,
        "counts": _counts(session, row),
        "run_id": row.run_id,
        "created_at": to_rfc3339(row.created_at_ms),
        "data": data,
        "next_cursor": None if finished and read_to >= row.size else str(read_to),
    }


def _counts(session: Session, row: Batch) -> dict[str, int]:
    by_status = select(Submission.status, func.count()).where(Submission.batch_id == row.id).group_by(Submission.status)
    counts = {str(status): 0 for status in SubmissionStatus} | {"refused": len(row.refused)}
    counts.update({str(status): count for status, count in session.execute(by_status)})
    return counts


def _ending(row: Submission) -> dict[str, Any]:
    return {
        "ending": row.batch_ending,
        "index": row.batch_index,
        "custom_id": row.custom_id,
        "submission": submission_view(row),
        "problem": None,
    }


def _refusal_ending(index: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "ending": entry["ending"],
        "index": int(index),
        "custom_id": entry["custom_id"],
        "submission": None,
        "problem": _problem(entry),
    }


def _places(session: Session, row: Batch) -> list[dict[str, Any]]:
    """What became of every item when the batch came in, in the order of the request."""
    taken = select(Submission.batch_index, Submission.custom_id, Submission.id).where(Submission.batch_id == row.id)
    places: list[dict[str, Any]] = [
        {"index": index, "custom_id": custom_id, "submission_id": submission_id, "problem": None}
        for index, custom_id, submission_id in session.execute(taken)
    ]
    places += [
        {"index": int(index), "custom_id": entry["custom_id"], "submission_id": None, "problem": _problem(entry)}
        for index, entry in row.refused.items()
    ]
    return sorted(places, key=lambda place: int(place["index"]))


def _problem(entry: dict[str, Any]) -> dict[str, Any]:
    """Items that are not valid were noted with a problem, those that the rules refused with a code."""
    found: dict[str, Any] = entry.get("problem") or domain_problem(entry["code"], entry["detail"]).body()
    return found
