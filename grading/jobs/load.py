"""Who is busy: the slots that may take work, what runs there, and how many bells wait for them."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import func, literal, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms
from grading.models import IS_CLAIMED, IS_WAITING, Slot, Submission, status_among
from grading.states import CLAIMED, SlotState


def healthy_slots(session: Session) -> Sequence[Slot]:
    """Slots that take work at present, by id."""
    return session.scalars(
        select(Slot).where(Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms()).order_by(Slot.id)
    ).all()


def running_counts(session: Session) -> Counter[str]:
    """Running grades per slot id."""
    counts = select(Submission.slot_id, func.count()).where(IS_CLAIMED).group_by(Submission.slot_id)
    return Counter({str(slot_id): count for slot_id, count in session.execute(counts)})


def running_at(session: Session, slot_id: str) -> list[bool]:
    """For each grade that runs in this slot, whether it is a suspect (see `Head.suspect`)."""
    held = select(Submission.gpu_faults > 0).where(Submission.slot_id == slot_id, IS_CLAIMED)
    return [bool(suspect) for suspect in session.scalars(held)]


def bells_and_running(session: Session, slots: Sequence[Slot]) -> Counter[str]:
    """Bells and running grades per queue."""
    running = running_counts(session)
    load: Counter[str] = Counter({slot.queue: running[slot.id] for slot in slots})
    counts = session.execute(
        select(Submission.queue, func.count())
        .where(IS_WAITING, Submission.queue.in_([slot.queue for slot in slots]))
        .group_by(Submission.queue)
    )
    for queue, count in counts:
        load[str(queue)] += count
    return load


def fitting(row: Submission, slots: Sequence[Slot]) -> list[Slot]:
    """Those that may take a row; the one that failed it only where no other may."""
    fits = [slot for slot in slots if row.gpu_kind in (None, slot.kind)]
    return [slot for slot in fits if slot.id != row.excluded_slot_id] or fits


def another_is_idle(slot_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a healthy slot but this one, in which nothing runs, may take the row of the enclosing statement."""
    other, held = aliased(Slot), aliased(Submission)
    busy = select(literal(1)).where(held.slot_id == other.id, status_among(CLAIMED, held)).correlate(other).exists()
    return (
        select(literal(1))
        .where(
            other.id != slot_id,
            other.state == SlotState.READY,
            other.lease_until_ms > db_now_ms(),
            or_(Submission.gpu_kind.is_(None), other.kind == Submission.gpu_kind),
            or_(Submission.excluded_slot_id.is_(None), Submission.excluded_slot_id != other.id),
            ~busy,
        )
        .correlate(Submission)
        .exists()
    )
