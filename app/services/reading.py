"""Reading: pages of episodes and submissions, and what there is of a submission beyond the object itself."""

from typing import Any

from sqlalchemy import select

from app.auth import current_project
from app.context import Context
from app.services.paging import page
from app.services.views import attempt_view, episode_view, submission_view
from grading import queries
from grading.models import Attempt, Episode, Submission


def list_submissions(ctx: Context, query: dict[str, Any]) -> dict[str, Any]:
    """One page of the project's submissions."""
    named = [name for name in ("run_id", "episode_id", "batch_id", "task_id") if name in query]
    conditions = [Submission.project_id == current_project(), *(getattr(Submission, n) == query[n] for n in named)]
    if "status" in query:
        conditions.append(Submission.status.in_(query["status"]))
    if "ids" in query:
        conditions.append(Submission.id.in_(query["ids"]))
    with ctx.db.read() as session:
        found = select(Submission).where(*conditions).options(*queries.WITHOUT_SOURCE)
        rows, next_cursor = page(session, found, Submission.id, query)
    # the estimate is asked once per page, and only where something on it waits
    return {"data": [submission_view(row, ctx.queue.estimate(row)) for row in rows], "next_cursor": next_cursor}


def list_episodes(ctx: Context, query: dict[str, Any]) -> dict[str, Any]:
    """One page of the project's episodes, each with its history."""
    named = [name for name in ("run_id", "task_id") if name in query]
    conditions = [Episode.project_id == current_project(), *(getattr(Episode, n) == query[n] for n in named)]
    if "status" in query:
        conditions.append(Episode.status.in_(query["status"]))
    with ctx.db.read() as session:
        rows, next_cursor = page(session, select(Episode).where(*conditions), Episode.id, query)
        histories = queries.histories(session, [row.id for row in rows])
    return {"data": [episode_view(row, histories[row.id]) for row in rows], "next_cursor": next_cursor}


def attempts(ctx: Context, submission_id: str) -> dict[str, Any]:
    """Every attempt at a submission. Raises NotFound."""
    with ctx.db.read() as session:
        queries.submission(session, current_project(), submission_id)
        return {"data": [attempt_view(row) for row in queries.attempts(session, submission_id)]}


def code(ctx: Context, submission_id: str) -> str:
    """The source as it was sent. Raises NotFound."""
    with ctx.db.read() as session:
        return queries.submission(session, current_project(), submission_id, source=True).code


def log(ctx: Context, submission_id: str) -> str:
    """The whole log of build and run; where none was kept, what is known instead. Raises NotFound."""
    with ctx.db.read() as session:
        row = queries.submission(session, current_project(), submission_id)
        if row.log:
            return row.log
        lines = [_attempt_line(attempt) for attempt in queries.attempts(session, submission_id)]
    feedback = (row.result or {}).get("feedback") or row.error_detail or ""
    return "\n".join([*lines, *([feedback] if feedback else [])])


def _attempt_line(attempt: Attempt) -> str:
    why = ": ".join(part for part in (attempt.code, attempt.detail) if part)
    line = f"attempt {attempt.number} on {attempt.slot_id}: {attempt.outcome or 'running'}"
    return f"{line} ({why})" if why else line
