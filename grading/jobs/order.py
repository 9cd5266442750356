"""Who is next: lanes of waiting rows ranked by aged priority, then fair share, then age. Reads only.

Statements are built once and take the slot as parameters (`at_slot`): building them was most of a claim's time.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sqlalchemy import CTE, Select, and_, bindparam, case, func, literal, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms
from grading.jobs.load import a_builder_is_there, another_is_idle, takes_work
from grading.jobs.queue_lanes import TO_BUILD
from grading.models import IS_CLAIMED, IS_WAITING, Slot, Submission
from grading.states import SlotRole, SubmissionStatus

AGING_MS = 10 * 60 * 1000


@dataclass(frozen=True)
class Head:
    """The oldest row of one lane, with what decides between lanes.

    A `suspect` lost a device before: it is graded alone in its slot, so that the next loss has one possible cause.
    `project_served_ms` and `run_served_ms` are when they last got a slot, 0 for never; `now_ms` is when this was read.
    """

    lane: str
    submission_id: str
    priority: int
    created_at_ms: int
    project_id: str
    run_id: str | None
    suspect: bool
    project_served_ms: int
    run_served_ms: int
    now_ms: int

    @property
    def aged_priority(self) -> int:
        return max(0, self.priority - (self.now_ms - self.created_at_ms) // AGING_MS)


def at_slot(slot: Slot) -> dict[str, str]:
    """The parameters that `eligible` takes."""
    return {"at_slot_id": slot.id, "at_slot_kind": slot.kind}


@cache
def eligible(role: SlotRole, *, beside: bool = False) -> ColumnElement[bool]:
    """Rows that a slot may take: a builder what is to be built first, a grader the rest, or all where nobody builds."""
    return _to_build() if role is SlotRole.BUILDER else _to_grade(beside)


def _to_build() -> ColumnElement[bool]:
    return and_(
        IS_WAITING,
        Submission.status == SubmissionStatus.QUEUED,
        Submission.needs_build.is_(True),
        Submission.deadline_at_ms > db_now_ms(),
    )


def _to_grade(beside: bool) -> ColumnElement[bool]:
    """An exclusion lapses where no other healthy slot fits. `beside` another grade only what no idle slot may take."""
    slot_id, slot_kind = bindparam("at_slot_id", type_=Slot.id.type), bindparam("at_slot_kind", type_=Slot.kind.type)
    other = aliased(Slot)
    alternative = (
        select(literal(1))
        .where(
            other.id != slot_id,
            other.role == SlotRole.GRADER,
            takes_work(other),
            or_(Submission.gpu_kind.is_(None), other.kind == Submission.gpu_kind),
        )
        .correlate(Submission)
        .exists()
    )
    return and_(
        IS_WAITING,
        or_(
            Submission.status == SubmissionStatus.READY,
            Submission.needs_build.is_(False),
            ~a_builder_is_there(),
        ),
        or_(Submission.gpu_kind.is_(None), Submission.gpu_kind == slot_kind),
        Submission.deadline_at_ms > db_now_ms(),
        or_(Submission.excluded_slot_id.is_(None), Submission.excluded_slot_id != slot_id, ~alternative),
        *([~another_is_idle(slot_id)] if beside else []),
    )


def heads(session: Session, slot: Slot, *, beside: bool = False) -> list[Head]:
    """The oldest row that this slot may take, of every lane that has one."""
    # two statements: joined into one, Postgres may prefer to read the whole table
    ids = [found for found in session.scalars(_oldest(slot.role, beside), at_slot(slot)) if found is not None]
    return [Head(*row) for row in session.execute(_heads(slot.role), {"ids": ids})] if ids else []


def rank(session: Session, candidates: list[Head], role: SlotRole = SlotRole.GRADER) -> list[Head]:
    """Candidates, best first: submissions without a run share as one run of their project.

    Builders and graders each share out their own time: a build is no turn on a GPU.
    """
    if len(candidates) < 2:
        return candidates
    running = session.execute(_running(role)).all()
    projects = Counter(project_id for project_id, _ in running)
    runs = Counter((project_id, run_id) for project_id, run_id in running)

    def key(head: Head) -> tuple[int | str, ...]:
        return (
            head.aged_priority,
            projects[head.project_id],
            head.project_served_ms,
            runs[head.project_id, head.run_id],
            head.run_served_ms,
            head.submission_id,
        )

    return sorted(candidates, key=key)


@cache
def _lanes() -> CTE:
    """The lanes that have waiting rows. A loose index scan: its cost is per lane, not per row."""
    first = select(func.min(Submission.lane).label("lane")).where(IS_WAITING).cte("lanes", recursive=True)
    following = select(func.min(Submission.lane)).where(IS_WAITING, Submission.lane > first.c.lane)
    return first.union_all(select(following.scalar_subquery()).where(first.c.lane.is_not(None)))


@cache
def _oldest(role: SlotRole, beside: bool) -> Select[str | None]:
    """For each lane, the id of the oldest row that a slot may take, or None."""
    lanes = _lanes()
    oldest = (
        select(Submission.id)
        .where(Submission.lane == lanes.c.lane, eligible(role, beside=beside))
        .order_by(Submission.id)
        .limit(1)
        .correlate(lanes)
        .scalar_subquery()
    )
    # none need look through what is another's
    to_build = lanes.c.lane.startswith(TO_BUILD)
    wanted = to_build if role is SlotRole.BUILDER else or_(~to_build, ~a_builder_is_there())
    return select(oldest).where(lanes.c.lane.is_not(None), wanted)


@cache
def _heads(role: SlotRole) -> Select[*tuple[Any, ...]]:
    head = aliased(Submission)
    served = partial(_served, Submission.build_claimed_at_ms if role is SlotRole.BUILDER else Submission.claimed_at_ms)
    return select(
        head.lane,
        head.id,
        head.priority,
        head.created_at_ms,
        head.project_id,
        head.run_id,
        head.gpu_faults > 0,
        served(Submission.project_id == head.project_id),
        case(
            (head.run_id.is_(None), served(Submission.project_id == head.project_id, Submission.run_id.is_(None))),
            else_=served(Submission.project_id == head.project_id, Submission.run_id == head.run_id),
        ),
        db_now_ms(),
    ).where(head.id.in_(bindparam("ids", expanding=True)))


def _served(at: InstrumentedAttribute[int | None], *where: ColumnElement[bool]) -> ColumnElement[int]:
    latest = select(func.max(at)).where(at.is_not(None), *where).correlate_except(Submission)
    return func.coalesce(latest.scalar_subquery(), 0)


@cache
def _running(role: SlotRole) -> Select[str, str | None]:
    # counted by the caller: grouped, SQLite prefers an index over all rows to the one over those that run
    status = SubmissionStatus.COMPILING if role is SlotRole.BUILDER else SubmissionStatus.RUNNING
    return select(Submission.project_id, Submission.run_id).where(IS_CLAIMED, Submission.status == status)
