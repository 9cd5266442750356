"""Who is next: lanes of waiting rows ranked by aged priority, then fair share, then age. Reads only."""

from dataclasses import dataclass

from sqlalchemy import and_, func, literal, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms, now_ms
from grading.models import Slot, Submission
from grading.states import CLAIMED, WAITING, SlotState, SubmissionStatus

AGING_MS = 10 * 60 * 1000
# the bare comparison is repeated in text, because Postgres proves a partial index from literals only
IS_WAITING = Submission.status.in_(WAITING)


@dataclass(frozen=True)
class Head:
    """The oldest row of one lane, with what decides between lanes."""

    lane: str
    submission_id: str
    priority: int
    created_at_ms: int
    project_id: str
    run_id: str | None


@dataclass(frozen=True)
class Share:
    """How much a project or a run has at present: running grades, and when it last got a slot."""

    running: int
    served_at_ms: int


def eligible(slot: Slot) -> ColumnElement[bool]:
    """Rows that this slot may take. An exclusion lapses where no other healthy slot fits."""
    other = aliased(Slot)
    alternative = (
        select(literal(1))
        .where(
            other.id != slot.id,
            other.state == SlotState.READY,
            other.lease_until_ms > db_now_ms(),
            or_(Submission.gpu_kind.is_(None), other.kind == Submission.gpu_kind),
        )
        .correlate(Submission)
        .exists()
    )
    return and_(
        IS_WAITING,
        or_(Submission.status == SubmissionStatus.READY, Submission.needs_build.is_(False)),
        or_(Submission.gpu_kind.is_(None), Submission.gpu_kind == slot.kind),
        Submission.deadline_at_ms > db_now_ms(),
        or_(Submission.excluded_slot_id.is_(None), Submission.excluded_slot_id != slot.id, ~alternative),
    )


def lanes(session: Session) -> list[str]:
    """The lanes that have waiting rows. A loose index scan: its cost is per lane, not per row."""
    first = select(func.min(Submission.lane).label("lane")).where(IS_WAITING).cte("lanes", recursive=True)
    following = select(func.min(Submission.lane)).where(IS_WAITING, Submission.lane > first.c.lane)
    walk = first.union_all(select(following.scalar_subquery()).where(first.c.lane.is_not(None)))
    return [lane for lane in session.scalars(select(walk.c.lane)) if lane is not None]


def heads(session: Session, slot: Slot) -> list[Head]:
    """The oldest row that this slot may take, of every lane that has one."""
    found = []
    for lane in lanes(session):
        row = session.execute(
            select(
                Submission.lane,
                Submission.id,
                Submission.priority,
                Submission.created_at_ms,
                Submission.project_id,
                Submission.run_id,
            )
            .where(Submission.lane == lane, eligible(slot))
            .order_by(Submission.id)
            .limit(1)
        ).one_or_none()
        if row is not None:
            found.append(Head(*row))
    return found


def rank(session: Session, candidates: list[Head]) -> list[Head]:
    """Candidates, best first."""
    if len(candidates) < 2:
        return candidates
    now = now_ms(session)
    projects = {head.project_id: project_share(session, head.project_id) for head in candidates}
    runs = {
        (head.project_id, head.run_id): run_share(session, head.project_id, head.run_id) for head in candidates
    }

    def key(head: Head) -> tuple[int, int, int, int, int, str]:
        project, run = projects[head.project_id], runs[head.project_id, head.run_id]
        aged = max(0, head.priority - (now - head.created_at_ms) // AGING_MS)
        return (aged, project.running, project.served_at_ms, run.running, run.served_at_ms, head.submission_id)

    return sorted(candidates, key=key)


def project_share(session: Session, project_id: str) -> Share:
    """What a project has now."""
    return _share(session, Submission.project_id == project_id)


def run_share(session: Session, project_id: str, run_id: str | None) -> Share:
    """What one run of a project has now; submissions without a run share as one."""
    run = Submission.run_id.is_(None) if run_id is None else Submission.run_id == run_id
    return _share(session, and_(Submission.project_id == project_id, run))


def _share(session: Session, where: ColumnElement[bool]) -> Share:
    running = session.scalars(
        select(func.count()).select_from(Submission).where(where, Submission.status.in_(CLAIMED))
    ).one()
    served = session.scalar(select(func.max(Submission.claimed_at_ms)).where(where))
    return Share(running, served or 0)


