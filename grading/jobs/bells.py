"""Which queue to ring for which row. The choice is committed on the row; ringing itself is `grading.queue`."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms, now_ms
from grading.db import Database
from grading.jobs.claim import ready_slot
from grading.jobs.order import heads
from grading.models import IS_CLAIMED, IS_WAITING, Slot, Submission
from grading.states import SlotState, SubmissionStatus

PAGE = 500
# a bell that an idle slot has not answered by then was lost with its broker, and is rung again
BELL_TRAVEL_MS = 4000
# by then, whoever took the row in has rung for it or cannot
OVERLOOKED_MS = 2000


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

    Bells that a broker lost need no search: each idle slot finds, every other second, that it has been rung for long
    ago or that rows wait which it may take.
    """
    live = select(Slot.queue).where(Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms())
    overlooked = Submission.created_at_ms <= db_now_ms() - OVERLOOKED_MS
    return _assign(db, or_(Submission.queue.is_(None) & overlooked, Submission.queue.not_in(live)))


def bell_for_idle_slot(db: Database, slot_id: str, incarnation: str) -> Bell | None:
    """A bell for a slot that is idle while rows wait that it may take: the oldest, whoever was rung for it before.

    None where the slot is busy or may not work, where nothing waits, or where it has been rung for and has yet to come.
    Raises FenceLost.
    """
    with db.read() as session:
        if not _wanted(session, slot_id, incarnation):
            return None
    with db.write() as session:
        slot = _wanted(session, slot_id, incarnation)
        return _ring_for(session, slot) if slot else None


def _wanted(session: Session, slot_id: str, incarnation: str) -> Slot | None:
    """The slot, if it is idle and something waits for it: a read, so that idle slots cost no write."""
    slot = ready_slot(session, slot_id, incarnation)
    if slot is None or _running(session, slot.id):
        return None
    return slot if any(heads(session, slot)) else None


def bells_after_claim(db: Database, queue: str | None, slot_queue: str) -> list[Bell]:
    """Bells for idle slots when a claim has left rows behind, each slot once.

    `queue` is where the claimed row's own bell was: when another slot took it, that bell now stands for one of the
    rows that were rung for on `slot_queue`, so that the lengths of the queues stay true.
    """
    with db.write() as session:
        if queue is not None and queue != slot_queue:
            _exchange(session, slot_queue, queue)
        bells = []
        for slot in _idle_slots(session):
            bell = _ring_for(session, slot)
            if bell is not None:
                bells.append(bell)
        return bells


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
        slots = _healthy_slots(session)
        if not slots:
            return []
        load = _load(session, slots)
        rows = session.scalars(
            select(Submission)
            .where(IS_WAITING, wanted)
            .where(or_(Submission.status == SubmissionStatus.READY, Submission.needs_build.is_(False)))
            .order_by(Submission.queue, Submission.rung_at_ms)
            .limit(PAGE)
            .with_for_update(skip_locked=True)
        ).all()
        now = now_ms(session)
        bells = []
        for row in rows:
            fits = _fitting(row, slots)
            if not fits:
                continue
            slot = min(fits, key=lambda s: (load[s.queue], random.random()))
            load[slot.queue] += 1
            row.queue, row.rung_at_ms = slot.queue, now
            bells.append(Bell(slot.queue, row.id))
        return bells


def _fitting(row: Submission, slots: Sequence[Slot]) -> list[Slot]:
    fits = [slot for slot in slots if row.gpu_kind in (None, slot.kind)]
    return [slot for slot in fits if slot.id != row.excluded_slot_id] or fits


def _healthy_slots(session: Session) -> Sequence[Slot]:
    return session.scalars(
        select(Slot).where(Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms()).order_by(Slot.id)
    ).all()


def _idle_slots(session: Session) -> list[Slot]:
    return [slot for slot in _healthy_slots(session) if not _running(session, slot.id)]


def _running(session: Session, slot_id: str) -> int:
    return session.scalars(
        select(func.count())
        .select_from(Submission)
        .where(Submission.slot_id == slot_id, IS_CLAIMED)
    ).one()


def _load(session: Session, slots: Sequence[Slot]) -> Counter[str]:
    """Bells and running grades per queue."""
    load: Counter[str] = Counter({slot.queue: _running(session, slot.id) for slot in slots})
    counts = session.execute(
        select(Submission.queue, func.count())
        .where(IS_WAITING, Submission.queue.in_([slot.queue for slot in slots]))
        .group_by(Submission.queue)
    )
    for queue, count in counts:
        load[str(queue)] += count
    return load


def _ring_for(session: Session, slot: Slot) -> Bell | None:
    on_its_way = select(Submission.id).where(
        IS_WAITING, Submission.queue == slot.queue, Submission.rung_at_ms > now_ms(session) - BELL_TRAVEL_MS
    )
    if session.scalar(on_its_way.limit(1)) is not None:
        return None
    for head in heads(session, slot):
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


def _exchange(session: Session, mine: str, theirs: str) -> None:
    row = (
        select(Submission.id)
        .where(IS_WAITING, Submission.queue == mine)
        .order_by(Submission.rung_at_ms)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    session.execute(
        update(Submission)
        .where(Submission.id == row)
        .values(queue=theirs)
        .execution_options(synchronize_session=False)
    )
