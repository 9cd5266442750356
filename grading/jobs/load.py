"""Who is busy: the slots that may take work, what runs there, and how many bells wait for them."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import and_, func, literal, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.orm.util import AliasedClass
from sqlalchemy.sql.elements import ColumnElement

from grading.clock import db_now_ms
from grading.models import IS_CLAIMED, IS_WAITING, Slot, Submission, status_among
from grading.states import CLAIMED, SlotRole, SlotState


def takes_work(slot: type[Slot] | AliasedClass[Slot] = Slot) -> ColumnElement[bool]:
    """Whether a slot takes work at present."""
    return and_(slot.state == SlotState.READY, slot.lease_until_ms > db_now_ms())


def healthy_slots(session: Session) -> Sequence[Slot]:
    """Slots that take work at present, by id: graders and builders."""
    return session.scalars(select(Slot).where(takes_work()).order_by(Slot.id)).all()


def a_builder_is_there() -> ColumnElement[bool]:
    """Whether any builder takes work; without one, graders build for themselves."""
    builder = aliased(Slot)
    return select(literal(1)).where(builder.role == SlotRole.BUILDER, takes_work(builder)).exists()


def running_counts(session: Session) -> Counter[str]:
    """Running grades and builds per slot id."""
    counts = select(Submission.slot_id, func.count()).where(IS_CLAIMED).group_by(Submission.slot_id)
    return Counter({str(slot_id): count for slot_id, count in session.execute(counts)})


def running_at(session: Session, slot_id: str) -> list[bool]:
    """For each grade that runs in this slot, whether it is a suspect (see `Head.suspect`)."""
    held = select(Submission.gpu_faults > 0).where(Submission.slot_id == slot_id, IS_CLAIMED)
    return [bool(suspect) for suspect in session.scalars(held)]


def bells_and_running(session: Session, slots: Sequence[Slot]) -> Counter[str]:
    """Bells and running grades per queue; builders share one."""
    running = running_counts(session)
    load: Counter[str] = Counter()
    for slot in slots:
        load[slot.queue] += running[slot.id]
    counts = session.execute(
        select(Submission.queue, func.count())
        .where(IS_WAITING, Submission.queue.in_([slot.queue for slot in slots]))
        .group_by(Submission.queue)
    )
    for queue, count in counts:
        load[str(queue)] += count
    return load


def fitting(row: Submission, slots: Sequence[Slot]) -> list[Slot]:
    """Those that may take a row: builders first; of graders the one that failed it only where no other may."""
    builders = [slot for slot in slots if slot.role is SlotRole.BUILDER]
    if row.waits_for_build and builders:
        return builders
    fits = [slot for slot in slots if slot.role is SlotRole.GRADER and row.gpu_kind in (None, slot.kind)]
    return [slot for slot in fits if slot.id != row.excluded_slot_id] or fits


def another_is_idle(slot_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a healthy grader but this one, in which nothing runs, may take the row of the enclosing statement."""
    other, held = aliased(Slot), aliased(Submission)
    busy = select(literal(1)).where(held.slot_id == other.id, status_among(CLAIMED, held)).correlate(other).exists()
    return (
        select(literal(1))
        .where(
            other.id != slot_id,
            other.role == SlotRole.GRADER,
            takes_work(other),
            or_(Submission.gpu_kind.is_(None), other.kind == Submission.gpu_kind),
            or_(Submission.excluded_slot_id.is_(None), Submission.excluded_slot_id != other.id),
            ~busy,
        )
        .correlate(Submission)
        .exists()
    )
