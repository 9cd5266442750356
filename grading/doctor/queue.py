"""The parts that do the work: are there slots that take it, and does anybody look after what gets lost."""

from sqlalchemy import func, or_, select

from grading.clock import now_ms
from grading.db import Database
from grading.doctor.check import Check
from grading.models import IS_CLAIMED, IS_UNFINISHED, IS_WAITING, Slot, Submission
from grading.settings import Settings
from grading.states import SlotRole, SlotState

# a reaper acts within one pass; by then there must have been several
PASSES = 6


def workers(settings: Settings, db: Database) -> Check:
    with db.read() as session:
        now = now_ms(session)
        slots = session.scalars(select(Slot).order_by(Slot.host, Slot.number)).all()
    alive = [slot for slot in slots if slot.lease_until_ms > now and slot.state is not SlotState.GONE]
    ready = [slot for slot in alive if slot.state is SlotState.READY]
    others = [slot for slot in alive if slot.state is not SlotState.READY]
    closed = "; ".join(f"{slot.id} is {slot.state}" + (f" ({slot.reason})" if slot.reason else "") for slot in others)
    lost = [slot.id for slot in slots if slot.lease_until_ms <= now and slot.state is not SlotState.GONE]
    if not any(slot.role is SlotRole.GRADER for slot in ready):
        remedy = "start a worker (`make run`, or `python -m workers`), `undrain` one, or see why it is not well"
        return Check.failure("workers", f"none takes work; {closed or 'none is there'}", remedy)
    detail = f"{len(ready)} ready: {', '.join(sorted({slot.kind for slot in ready}))}"
    if others or lost:
        more = "; ".join(filter(None, [closed, f"no longer heard of: {', '.join(lost)}" if lost else ""]))
        remedy = "`python -m grading.cli workers` has the reasons; a quarantined slot returns after a clean probe"
        return Check.warning("workers", f"{detail}; {more}", remedy)
    return Check.ok("workers", detail)


def reaper(settings: Settings, db: Database) -> Check:
    """Whether work lies about that a reaper would have put right."""
    leases = settings.leases
    with db.read() as session:
        late = now_ms(session) - round(1000 * (leases.lease_s + PASSES * leases.reap_s))
        lost = IS_CLAIMED & (Submission.lease_until_ms < late)
        expired = IS_UNFINISHED & (Submission.deadline_at_ms < late)
        overdue = session.scalars(
            select(func.count())
            .select_from(Submission)
            .where(or_(lost, expired))
        ).one()
        waiting = session.scalars(select(func.count()).select_from(Submission).where(IS_WAITING)).one()
    if overdue:
        detail = f"{overdue} submissions have lost their worker or passed their deadline, and nobody acts"
        return Check.failure("reaper", detail, "start one: `python -m workers.reaper` (any number may run)")
    return Check.ok("reaper", f"nothing is overdue; {waiting} submissions wait")
