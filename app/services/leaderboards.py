"""The best verdicts on a task, each source once."""

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from app.auth import current_project
from app.context import Context
from app.services.tasks import known
from grading import queries
from grading.clock import to_rfc3339
from grading.models import Submission
from grading.states import SubmissionStatus


def leaderboard(ctx: Context, task_id: str, query: dict[str, Any]) -> dict[str, Any]:
    """The project's correct verdicts on a task, fastest first. Raises Problem (404) for an unknown task.

    A grade that was repeated gives way to the new one.
    """
    known(ctx, task_id)
    newer = aliased(Submission)
    repeated = (
        select(newer.id).where(newer.regrade_of == Submission.id, newer.status == SubmissionStatus.COMPLETED).exists()
    )
    conditions = [
        Submission.project_id == current_project(),
        Submission.task_id == task_id,
        Submission.verdict == "correct",
        Submission.deduped_from.is_(None),
        ~repeated,
    ]
    if "run_id" in query:
        conditions.append(Submission.run_id == query["run_id"])
    if "gpu" in query:
        conditions.append(Submission.environment["gpu"].as_string() == query["gpu"])
    place = func.row_number().over(
        partition_by=Submission.code_sha, order_by=(Submission.speedup.desc(), Submission.id)
    )
    ranked = select(Submission.id, place.label("place")).where(*conditions).subquery()
    best = (
        select(Submission)
        .join(ranked, ranked.c.id == Submission.id)
        .where(ranked.c.place == 1)
        .order_by(Submission.speedup.desc(), Submission.id)
        .limit(query["limit"])
        .options(*queries.WITHOUT_SOURCE)
    )
    with ctx.db.read() as session:
        rows = session.scalars(best).all()
    return {"task_id": task_id, "data": [_leader(rank, row) for rank, row in enumerate(rows, start=1)]}


def _leader(rank: int, row: Submission) -> dict[str, Any]:
    result = row.result or {}
    return {
        "rank": rank,
        "submission_id": row.id,
        "episode_id": row.episode_id,
        "run_id": row.run_id,
        "speedup": row.speedup,
        "speedup_ci95": result.get("speedup_ci95"),
        "reward": row.reward,
        "t_ref_ms": result.get("t_ref_ms"),
        "t_new_ms": result.get("t_new_ms"),
        "roofline_frac": result.get("roofline_frac"),
        "suspicious": result.get("suspicious", False),
        "language": row.language,
        "gpu": (row.environment or {}).get("gpu"),
        "code_sha": row.code_sha,
        "finished_at": to_rfc3339(row.finished_at_ms),
    }
