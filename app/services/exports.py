"""A run as NDJSON: its summary, then its episodes, then its submissions with source and attempts, oldest first."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from app.auth import current_project
from app.context import Context
from app.services.runs import summary
from app.services.views import attempt_view, episode_view, submission_view
from grading import queries
from grading.models import Attempt, Episode, Submission

PAGE = 100


def export_run(ctx: Context, run_id: str) -> Iterator[bytes]:
    """One line of JSON per object. Raises NotFound, before the first line."""
    project_id = current_project()
    with ctx.db.read() as session:
        head = summary(session, project_id, run_id)
    return _lines(ctx, project_id, run_id, head)


def _lines(ctx: Context, project_id: str, run_id: str, head: dict[str, Any]) -> Iterator[bytes]:
    yield _line("run", head)
    for episodes in _pages(ctx, Episode, project_id, run_id):
        with ctx.db.read() as session:
            histories = queries.histories(session, [row.id for row in episodes])
        for row in episodes:
            yield _line("episode", episode_view(row, histories[row.id]))
    for submissions in _pages(ctx, Submission, project_id, run_id):
        attempts = _attempts(ctx, [row.id for row in submissions])
        for row in submissions:
            more = {"code": row.code, "attempts": attempts.get(row.id, [])}
            yield _line("submission", submission_view(row) | more)


def _pages(ctx: Context, kind: Any, project_id: str, run_id: str) -> Iterator[Sequence[Any]]:
    """All rows by age. Each page is a transaction of its own: a slow reader must not hold one open."""
    after = ""
    while True:
        of_run = select(kind).where(kind.project_id == project_id, kind.run_id == run_id, kind.id > after)
        with ctx.db.read() as session:
            rows = session.scalars(of_run.order_by(kind.id).limit(PAGE)).all()
        if not rows:
            return
        yield rows
        after = rows[-1].id


def _attempts(ctx: Context, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    with ctx.db.read() as session:
        for row in session.scalars(select(Attempt).where(Attempt.submission_id.in_(ids)).order_by(Attempt.fence)):
            found.setdefault(row.submission_id, []).append(attempt_view(row))
    return found


def _line(kind: str, value: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, **value}, allow_nan=False, ensure_ascii=False).encode() + b"\n"
