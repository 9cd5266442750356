"""Runs: what all episodes and submissions with one `run_id` add up to, and their end."""

from typing import Any

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from app.auth import current_project
from app.context import Context
from app.services.submissions import announce_cancelled
from evaluator.verdicts import Verdict
from grading import jobs
from grading.clock import to_rfc3339
from grading.errors import NotFound
from grading.models import Episode, Submission
from grading.states import UNFINISHED, EpisodeStatus, SubmissionStatus


def get_run(ctx: Context, run_id: str) -> dict[str, Any]:
    """Counts, verdict mix and rates. Raises NotFound where nothing of the project has this run_id."""
    project_id = current_project()
    with ctx.db.read() as session:
        return summary(session, project_id, run_id)


def summary(session: Session, project_id: str, run_id: str) -> dict[str, Any]:
    """As `get_run`."""
    episodes = _counts(session, Episode.status, _episodes_of(project_id, run_id))
    of_run = (Submission.project_id == project_id, Submission.run_id == run_id)
    mine = (*of_run, Submission.regrade_of.is_(None))
    submissions = _counts(session, Submission.status, mine)
    regrades = session.scalars(select(func.count()).where(*of_run, Submission.regrade_of.is_not(None))).one()
    if not episodes and not submissions and not regrades:
        raise NotFound(f"there is no run {run_id}")
    verdicts = _counts(session, Submission.verdict, (*mine, Submission.verdict.is_not(None)))
    return {
        "run_id": run_id,
        "episodes": {str(status): episodes.get(status, 0) for status in EpisodeStatus},
        "submissions": {str(status): submissions.get(status, 0) for status in SubmissionStatus},
        "verdicts": {str(verdict): verdicts.get(verdict, 0) for verdict in Verdict},
        "regrades": regrades,
        **_measured(session, mine, submissions, verdicts),
        **_span(session, project_id, run_id),
    }


def cancel_run(ctx: Context, run_id: str) -> dict[str, Any]:
    """End its episodes and cancel everything unfinished. Raises NotFound."""
    ended = jobs.cancel_run(ctx.db, current_project(), run_id, lambda row: announce_cancelled(ctx, [row]))
    return {"run_id": run_id, "cancelled": ended}


def _episodes_of(project_id: str, run_id: str) -> tuple[ColumnElement[bool], ...]:
    return Episode.project_id == project_id, Episode.run_id == run_id


def _counts(session: Session, column: Any, where: tuple[ColumnElement[bool], ...]) -> dict[Any, int]:
    rows = session.execute(select(column, func.count()).where(*where).group_by(column))
    return {value: count for value, count in rows}  # noqa: C416 - rows are no pairs to mypy


def _measured(
    session: Session, mine: tuple[ColumnElement[bool], ...], submissions: dict[Any, int], verdicts: dict[Any, int]
) -> dict[str, Any]:
    """Means, bests and shares over the submissions of a run."""
    fast_1, fast_2, deduped, reward, best, wait_ms, eval_ms = session.execute(
        select(
            func.sum(case((Submission.speedup > 1.0, 1), else_=0)),
            func.sum(case((Submission.speedup >= 2.0, 1), else_=0)),
            func.count(Submission.deduped_from),
            func.avg(Submission.reward),
            func.max(Submission.speedup),
            func.avg(Submission.started_at_ms - Submission.created_at_ms),
            func.avg(Submission.finished_at_ms - Submission.claimed_at_ms),
        ).where(*mine, Submission.verdict.is_not(None))
    ).one()
    ended = sum(count for status, count in submissions.items() if status not in UNFINISHED)
    graded = sum(verdicts.values())
    return {
        "rates": {
            "graded_frac": _share(graded, ended),
            "correct_frac": _share(verdicts.get(Verdict.CORRECT, 0), graded),
            "fast_1_frac": _share(fast_1, graded),
            "fast_2_frac": _share(fast_2, graded),
        },
        "deduped": deduped,
        "reward_mean": _float(reward),
        "speedup_best": _float(best),
        "queue_wait_mean_s": _seconds(wait_ms),
        "eval_mean_s": _seconds(eval_ms),
    }


def _span(session: Session, project_id: str, run_id: str) -> dict[str, str | None]:
    """When the run first and last did something."""
    episodes = session.execute(
        select(func.min(Episode.created_at_ms), func.max(Episode.active_at_ms)).where(
            *_episodes_of(project_id, run_id)
        )
    ).one()
    submissions = session.execute(
        select(
            func.min(Submission.created_at_ms),
            func.max(func.coalesce(Submission.finished_at_ms, Submission.claimed_at_ms, Submission.created_at_ms)),
        ).where(Submission.project_id == project_id, Submission.run_id == run_id)
    ).one()
    first = [stamp for stamp in (episodes[0], submissions[0]) if stamp is not None]
    last = [stamp for stamp in (episodes[1], submissions[1]) if stamp is not None]
    return {"first_at": to_rfc3339(min(first)), "last_at": to_rfc3339(max(last))}


def _share(part: int | None, whole: int) -> float | None:
    return round((part or 0) / whole, 6) if whole else None


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _seconds(ms: Any) -> float | None:
    return None if ms is None else round(float(ms) / 1000, 6)
