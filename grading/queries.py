"""Reads that more than one house needs. Everything is seen within one project."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session, defer

from grading.errors import NotFound
from grading.models import IS_CLAIMED, Attempt, Batch, Canary, Episode, Submission
from grading.states import SubmissionStatus

WITHOUT_SOURCE = (defer(Submission.code, raiseload=True),)


def episode(session: Session, project_id: str, episode_id: str) -> Episode:
    """Raises NotFound, also for another project's episode."""
    row = session.get(Episode, episode_id)
    if row is None or row.project_id != project_id:
        raise NotFound(f"there is no episode {episode_id}")
    return row


def history(session: Session, episode_id: str) -> Sequence[Submission]:
    """The episode's submissions that have a verdict, by turn, without their sources."""
    return session.scalars(
        select(Submission)
        .where(Submission.episode_id == episode_id, Submission.status == SubmissionStatus.COMPLETED)
        .order_by(Submission.turn)
        .options(*WITHOUT_SOURCE)
    ).all()


def histories(session: Session, episode_ids: Sequence[str]) -> dict[str, list[Submission]]:
    """As `history`, for several episodes at once."""
    found: dict[str, list[Submission]] = {episode_id: [] for episode_id in episode_ids}
    rows = session.scalars(
        select(Submission)
        .where(Submission.episode_id.in_(episode_ids), Submission.status == SubmissionStatus.COMPLETED)
        .order_by(Submission.turn)
        .options(*WITHOUT_SOURCE)
    )
    for row in rows:
        found[str(row.episode_id)].append(row)
    return found


def batch(session: Session, project_id: str, batch_id: str) -> Batch:
    """Raises NotFound, also for another project's batch."""
    row = session.get(Batch, batch_id)
    if row is None or row.project_id != project_id:
        raise NotFound(f"there is no batch {batch_id}")
    return row


def submission(session: Session, project_id: str, submission_id: str, *, source: bool = False) -> Submission:
    """Raises NotFound, also for another project's submission. The source is read only where asked for."""
    row = session.get(Submission, submission_id, options=() if source else WITHOUT_SOURCE)
    if row is None or row.project_id != project_id:
        raise NotFound(f"there is no submission {submission_id}")
    return row


def attempts(session: Session, submission_id: str) -> Sequence[Attempt]:
    """Every attempt at a submission, first one first."""
    return session.scalars(select(Attempt).where(Attempt.submission_id == submission_id).order_by(Attempt.fence)).all()


def slot_is_idle(session: Session, slot_id: str) -> bool:
    """Whether nothing is being graded there."""
    held = select(Submission.id).where(Submission.slot_id == slot_id, IS_CLAIMED).limit(1)
    return session.scalar(held) is None


def latest_canaries(session: Session) -> dict[str, Canary]:
    """The last look of each slot's canary, by slot."""
    newest = select(Canary.slot_id, func.max(Canary.at_ms).label("at_ms")).group_by(Canary.slot_id).subquery()
    same = (Canary.slot_id == newest.c.slot_id) & (Canary.at_ms == newest.c.at_ms)
    return {look.slot_id: look for look in session.scalars(select(Canary).join(newest, same))}
