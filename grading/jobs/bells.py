"""Which queue to ring for which row. The choice is committed on the row; ringing itself is `grading.queue`."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms, now_ms
from grading.db import Database
from grading.jobs.claim import choose, ready_slot
from grading.jobs.load import bells_and_running, fitting, healthy_slots, running_counts
from grading.models import IS_WAITING, Slot, Submission
from grading.states import SlotState

PAGE = 500
# a bell that a slot with room has not answered by then was lost with its broker, and is rung again
BELL_TRAVEL_MS = 4000
# by then, whoever took the row in has rung for it or cannot
OVERLOOKED_MS = 2000
# each slot that is woken wakes others in turn, and every slot with room looks for itself
WOKEN_PER_CLAIM = 2
LOOKED_AT_PER_CLAIM = 8


@dataclass(frozen=True)
class Bell:
    """One ring that is due: on this queue, for this row."""

    queue: str
    submission_id: str


def assign_bells(db: Database, submission_ids: Sequence[str]) -> list[Bell]:
    """Give each of these rows that waits and has no bell one, on the least loaded slot that may take it.

    Rows for which there is no slot now stay without; the reaper finds them when there is one.
    """
    wanted = Submission.id.in_(submission_ids) & Submission.queue.is_(None)
    return _assign(db, wanted)


def missing_bells(db: Database) -> list[Bell]:
    """Bells for rows that wait without one, or with one on the queue of a slot that no longer takes work.

    Bells that a broker lost need no search: each slot with room finds, every other second, that it has been rung for
    long ago or that rows wait which it may take.
    """
    live = select(Slot.queue).where(Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms())
    overlooked = Submission.created_at_ms <= db_now_ms() - OVERLOOKED_MS
    return _assign(db, or_(Submission.queue.is_(None) & overlooked, Submission.queue.not_in(live)))


def bell_for_idle_slot(db: Database, slot_id: str, incarnation: str) -> Bell | None:
    """A bell for a slot with an idle lane while rows wait that it may take: the best, whoever was rung for it before.

    None where the slot is full or may not work, where nothing waits for it, or where it has been rung for and has yet
    to come. Raises FenceLost.
    """
    with db.read() as session:
        slot = ready_slot(session, slot_id, incarnation)
        # a read first, so that idle slots cost no write
        if slot is None or not choose(session, slot).heads:
            return None
    with db.write() as session:
        slot = ready_slot(session, slot_id, incarnation)
        return _ring_for(session, slot) if slot else None


def bells_after_claim(db: Database, queue: str | None, slot_queue: str) -> list[Bell]:
    """Bells for slots with room when a claim has left rows behind; lanes beside a grade only where no slot is idle.

    `queue` is where the claimed row's own bell was: when another slot took it, that bell now stands for one of the
    rows that were rung for on `slot_queue`, so that the lengths of the queues stay true. A row that was claimed before
    it had a bell cost one of those its own, which is rung again.
    """
    with db.write() as session:
        bells = []
        if queue is None:
            bells += _ring_again(session, slot_queue)
        elif queue != slot_queue:
            _exchange(session, slot_queue, queue)
        if session.scalar(select(Submission.id).where(IS_WAITING).limit(1)) is not None:
            bells += _wake(session)
        return bells


def bell_to_pass_on(db: Database, slot_id: str) -> Bell | None:
    """Where to ring after a bell at which a slot took nothing: for the row that was rung for there the longest ago.

    Usually the row was left to an idle slot. Where nobody may take it now, its bell counts as lost, so that the slot is
    rung again as soon as it has room.
    """
    with db.read() as session:
        slot = session.get(Slot, slot_id)
        if slot is None or _oldest_rung(session, slot.queue, lock=False) is None:
            return None
    with db.write() as session:
        slot = session.get_one(Slot, slot_id)
        row = _oldest_rung(session, slot.queue, lock=True)
        if row is None:
            return None
        target = _next_best(session, slot, row)
        # a bell on a queue that is shared with those who may answer it could come back here for ever
        if target is None or (target is not slot and target.queue == slot.queue):
            row.rung_at_ms = 0
            return None
        row.queue, row.rung_at_ms = target.queue, now_ms(session)
        return Bell(target.queue, row.id)


def unring(db: Database, bells: Sequence[Bell]) -> None:
    """Take bells that were not rung off their rows, unless the rows have moved on."""
    with db.write() as session:
        for bell in bells:
            session.execute(
                update(Submission)
                .where(Submission.id == bell.submission_id, Submission.queue == bell.queue, IS_WAITING)
                .values(queue=None, rung_at_ms=None)
                .execution_options(synchronize_session=False)
            )


def _assign(db: Database, wanted: ColumnElement[bool]) -> list[Bell]:
    with db.write() as session:
        slots = healthy_slots(session)
        if not slots:
            return []
        load = bells_and_running(session, slots)
        rows = session.scalars(
            select(Submission)
            .where(IS_WAITING, wanted)
            .order_by(Submission.queue, Submission.rung_at_ms)
            .limit(PAGE)
            .with_for_update(skip_locked=True)
        ).all()
        now = now_ms(session)
        bells = []
        for row in rows:
            slot = _least_loaded(fitting(row, slots), load)
            if slot is None:
                continue
            load[slot.queue] += 1
            row.queue, row.rung_at_ms = slot.queue, now
            bells.append(Bell(slot.queue, row.id))
        return bells


def _least_loaded(slots: Sequence[Slot], load: Counter[str]) -> Slot | None:
    return min(slots, key=lambda slot: (load[slot.queue], random.random()), default=None)


def _wake(session: Session) -> list[Bell]:
    running = running_counts(session)
    slots = healthy_slots(session)
    idle = [slot for slot in slots if not running[slot.id]]
    roomy = idle or [slot for slot in slots if running[slot.id] < slot.lanes]
    bells: list[Bell] = []
    for slot in random.sample(roomy, min(len(roomy), LOOKED_AT_PER_CLAIM)):
        bell = _ring_for(session, slot)
        if bell is not None:
            bells.append(bell)
        if len(bells) == WOKEN_PER_CLAIM:
            break
    return bells


def _next_best(session: Session, slot: Slot, row: Submission) -> Slot | None:
    """An idle slot that may take the row, else this one if it has room for it, else any other if it is closing."""
    others = [other for other in fitting(row, healthy_slots(session)) if other.id != slot.id]
    running = running_counts(session)
    idle = [other for other in others if not running[other.id]]
    if not idle and slot.state is SlotState.READY:
        return slot if choose(session, slot).heads else None
    return _least_loaded(idle or others, bells_and_running(session, others))


def _ring_for(session: Session, slot: Slot) -> Bell | None:
    on_its_way = select(Submission.id).where(
        IS_WAITING, Submission.queue == slot.queue, Submission.rung_at_ms > now_ms(session) - BELL_TRAVEL_MS
    )
    if session.scalar(on_its_way.limit(1)) is not None:
        return None
    for head in choose(session, slot).heads:
        if _move_bell(session, head.submission_id, slot.queue):
            return Bell(slot.queue, head.submission_id)
    return None


def _move_bell(session: Session, submission_id: str, queue: str) -> bool:
    """Note that the row has been rung for on this queue; False where somebody is about to claim or end it."""
    free = (
        select(Submission.id)
        .where(Submission.id == submission_id, IS_WAITING)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    moved = (
        update(Submission)
        .where(Submission.id == free)
        .values(queue=queue, rung_at_ms=db_now_ms())
        .returning(Submission.id)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(moved) is not None


def _oldest_rung(session: Session, queue: str, *, lock: bool) -> Submission | None:
    found = select(Submission).where(IS_WAITING, Submission.queue == queue).order_by(Submission.rung_at_ms).limit(1)
    if lock:
        found = found.with_for_update(skip_locked=True)
    return session.scalars(found).one_or_none()


def _ring_again(session: Session, queue: str) -> list[Bell]:
    row = _oldest_rung(session, queue, lock=True)
    if row is None:
        return []
    row.rung_at_ms = now_ms(session)
    session.flush()
    return [Bell(queue, row.id)]


def _exchange(session: Session, mine: str, theirs: str) -> None:
    row = _oldest_rung(session, mine, lock=True)
    if row is not None:
        row.queue = theirs
        session.flush()
