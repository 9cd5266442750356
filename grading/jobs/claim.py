"""Claiming: a slot takes the best waiting row for itself, under a new fence and a lease."""

import time
from dataclasses import dataclass, replace
from functools import cache

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningUpdate

from evaluator.submission import Submission as Source
from grading.clock import now_ms
from grading.db import Database
from grading.errors import FenceLost
from grading.ids import ATTEMPT, new_id
from grading.jobs.builds import architectures, follows_build, prebuilt_for
from grading.jobs.load import running_at
from grading.jobs.order import Head, at_slot, eligible, heads, rank
from grading.models import Attempt, Slot, Submission
from grading.settings import Leases
from grading.states import SlotRole, SlotState, SubmissionStatus

TRIES = 5
# whoever gives bells to a lane has all of its rows locked for about so long
PAUSE_S = 0.05


@dataclass(frozen=True)
class Claim:
    """One claimed submission, and its row as claimed. Everything that is later written about it names the fence.

    `architectures` is what a builder builds it for.
    """

    submission_id: str
    fence: int
    attempt: int
    slot_id: str
    source: Source
    lane: str
    queue: str | None
    row: Submission
    architectures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """What a slot may take now, best first; `beside` another grade of the same slot."""

    heads: list[Head]
    beside: bool

    @property
    def best(self) -> list[Head]:
        """Those of the highest priority that there is."""
        return [head for head in self.heads if head.aged_priority == self.heads[0].aged_priority]


def claim(db: Database, slot_id: str, incarnation: str, leases: Leases) -> Claim | None:
    """Take the best waiting row for this slot, or None where there is none that it may take.

    A row that another transaction has locked is passed over, so an empty answer is believed only if a plain read finds
    nothing either, and what has a lower priority is taken only when the rows above it stay locked. Raises FenceLost
    where the slot belongs to a later worker.
    """
    for number in range(TRIES):
        if number:
            time.sleep(PAUSE_S)
        with db.write() as session:
            # locked, so that the lanes of one slot claim one after another, and none after a drain was recorded
            slot = ready_slot(session, slot_id, incarnation, lock=True)
            if slot is None:
                return None
            choice = choose(session, slot)
            for head in choice.heads if number == TRIES - 1 else choice.best:
                taken = _take(session, slot, head, choice.beside)
                if taken is not None:
                    return _begin(session, slot, taken, leases)
        if not choice.heads:
            return None
    return None


def ready_slot(session: Session, slot_id: str, incarnation: str, *, lock: bool = False) -> Slot | None:
    """The slot, if it may take work now. Raises FenceLost where another worker holds it."""
    slot = session.get(Slot, slot_id, with_for_update={"key_share": True} if lock else None)
    if slot is None or slot.incarnation != incarnation:
        raise FenceLost(f"slot {slot_id} belongs to another worker")
    return slot if slot.state is SlotState.READY else None


def choose(session: Session, slot: Slot) -> Choice:
    """What a ready slot may take.

    Its first lane takes anything. Further lanes fill up where no idle slot could take the row. A suspect runs alone:
    when it is the best, the lanes run empty first.
    """
    running = running_at(session, slot.id)
    beside = bool(running)
    if len(running) >= slot.lanes or any(running):
        return Choice([], beside)
    ranked = rank(session, heads(session, slot, beside=beside), slot.role)
    if beside:
        first_suspect = next((index for index, head in enumerate(ranked) if head.suspect), len(ranked))
        ranked = ranked[:first_suspect]
    return Choice(ranked, beside)


def _take(session: Session, slot: Slot, head: Head, beside: bool) -> Submission | None:
    """The oldest free row of the lane becomes this slot's, or nothing happens."""
    return session.scalars(
        _taking(slot.role, beside),
        at_slot(slot) | {"from_lane": head.lane},
        execution_options={"populate_existing": True, "synchronize_session": False},
    ).one_or_none()


@cache
def _taking(role: SlotRole, beside: bool) -> ReturningUpdate[Submission]:
    """The conditional statement."""
    from_lane = bindparam("from_lane", type_=Submission.lane.type)
    free = select(Submission.id).where(Submission.lane == from_lane, eligible(role, beside=beside))
    if beside:
        free = free.where(Submission.gpu_faults == 0)
    oldest = free.order_by(Submission.id).limit(1).with_for_update(skip_locked=True, of=Submission)
    status = SubmissionStatus.COMPILING if role is SlotRole.BUILDER else SubmissionStatus.RUNNING
    taken = update(Submission).where(Submission.id == oldest.scalar_subquery()).values(status=status)
    return taken.returning(Submission)


def _begin(session: Session, slot: Slot, row: Submission, leases: Leases) -> Claim:
    now = now_ms(session)
    queue = row.queue
    builds = slot.role is SlotRole.BUILDER
    if not follows_build(session, row):
        row.attempt += 1
    row.fence += 1
    row.slot_id = slot.id
    if builds:
        row.build_claimed_at_ms = now
    else:
        row.claimed_at_ms = now
    row.started_at_ms = row.started_at_ms or now
    row.lease_until_ms = now + round(leases.lease_s * 1000)
    row.queue = None
    row.rung_at_ms = None
    row.phase = "claimed"
    session.add(
        Attempt(
            id=new_id(ATTEMPT),
            submission_id=row.id,
            number=row.attempt,
            fence=row.fence,
            kind="build" if builds else "grade",
            slot_id=slot.id,
            incarnation=slot.incarnation,
            started_at_ms=now,
        )
    )
    source = Source.from_json(
        {
            "submission_id": row.id,
            "task_id": row.task_id,
            "code": row.code,
            "language": row.language,
            "seed_key": row.seed_key,
        }
    )
    if not builds:
        source = replace(source, prebuilt=prebuilt_for(row, slot))
    wanted = architectures(session, row) if builds else ()
    return Claim(row.id, row.fence, row.attempt, slot.id, source, row.lane, queue, row, wanted)
