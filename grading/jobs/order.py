"""Who is next: lanes of waiting rows ranked by aged priority, then fair share, then age. Reads only."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import and_, func, literal, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms, now_ms
from grading.jobs.load import another_is_idle
from grading.models import IS_CLAIMED, IS_WAITING, Slot, Submission
from grading.states import SlotState, SubmissionStatus

AGING_MS = 10 * 60 * 1000


@dataclass(frozen=True)
class Head:
    """The oldest row of one lane, with what decides between lanes.

    A `suspect` lost a device before: it is graded alone in its slot, so that the next loss has one possible cause.
    """

    lane: str
    submission_id: str
    priority: int
    created_at_ms: int
    project_id: str
    run_id: str | None
    suspect: bool


def eligible(slot: Slot, *, beside: bool = False) -> ColumnElement[bool]:
    """Rows that this slot may take. An exclusion lapses where no other healthy slot fits.

    `beside` another grade it may take only what no idle slot may.
    """
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
    conditions = [] if not beside else [~another_is_idle(slot)]
    return and_(
        *conditions,
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


def heads(session: Session, slot: Slot, *, beside: bool = False) -> Iterator[Head]:
    """The oldest row that this slot may take, of every lane that has one."""
    for lane in lanes(session):
        row = session.execute(
            select(
                Submission.lane,
                Submission.id,
                Submission.priority,
                Submission.created_at_ms,
                Submission.project_id,
                Submission.run_id,
                Submission.gpu_faults > 0,
            )
            .where(Submission.lane == lane, eligible(slot, beside=beside))
            .order_by(Submission.id)
            .limit(1)
        ).one_or_none()
        if row is not None:
            yield Head(*row)


def rank(session: Session, candidates: list[Head]) -> list[Head]:
    """Candidates, best first."""
    if len(candidates) < 2:
        return candidates
    now = now_ms(session)
    shares = Shares(session)

    def key(head: Head) -> tuple[int, int, int, int, int, str]:
        aged = max(0, head.priority - (now - head.created_at_ms) // AGING_MS)
        return (aged, *shares.of_project(head), *shares.of_run(head), head.submission_id)

    return sorted(candidates, key=key)


class Shares:
    """What projects and runs have at present: (running grades, when they last got a slot), least first.

    Submissions without a run share as one run of their project.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._projects: Counter[str] = Counter()
        self._runs: Counter[tuple[str, str | None]] = Counter()
        self._served: dict[tuple[str | None, ...], int] = {}
        claimed = select(Submission.project_id, Submission.run_id).where(IS_CLAIMED)
        for project_id, run_id in session.execute(claimed):
            self._projects[project_id] += 1
            self._runs[project_id, run_id] += 1

    def of_project(self, head: Head) -> tuple[int, int]:
        served = self._last_served((head.project_id,), Submission.project_id == head.project_id)
        return self._projects[head.project_id], served

    def of_run(self, head: Head) -> tuple[int, int]:
        run = Submission.run_id.is_(None) if head.run_id is None else Submission.run_id == head.run_id
        where = and_(Submission.project_id == head.project_id, run)
        return self._runs[head.project_id, head.run_id], self._last_served((head.project_id, head.run_id), where)

    def _last_served(self, key: tuple[str | None, ...], where: ColumnElement[bool]) -> int:
        if key not in self._served:
            latest = select(func.max(Submission.claimed_at_ms)).where(where)
            self._served[key] = self._session.scalar(latest) or 0
        return self._served[key]
