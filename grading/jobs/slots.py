"""Slots: who serves a GPU now. A slot has a lease of its own, and a second worker for the same GPU waits for it."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.db import Database
from grading.errors import FenceLost, NotFound, SlotTaken
from grading.models import Slot
from grading.settings import Leases
from grading.states import SlotRole, SlotState

REASON_MAX = 500
HELD = "drained by an operator"


@dataclass(frozen=True)
class SlotIdentity:
    """`slot_id` is the device's own name (a GPU's UUID); `incarnation` names this start of its worker.

    Each grader has a queue of its own, builders share one.
    """

    slot_id: str
    incarnation: str
    kind: str
    evaluator: str
    host: str
    number: int
    queue: str
    environment: dict[str, Any] = field(default_factory=dict)
    lanes: int = 1
    role: SlotRole = SlotRole.GRADER


def register_slot(db: Database, identity: SlotIdentity, leases: Leases) -> Slot:
    """Take the slot, in state `starting`. Raises SlotTaken while another incarnation's lease runs.

    A quarantine outlives the worker: a sick GPU does not become healthy by a restart.
    """
    with db.write() as session:
        now = now_ms(session)
        slot = _lock(session, identity.slot_id)
        if slot is None:
            slot = Slot(id=identity.slot_id, state=SlotState.STARTING, registered_at_ms=now, state_at_ms=now)
            slot.held, slot.faults = False, 0
            session.add(slot)
        elif slot.incarnation != identity.incarnation and _alive(slot, now):
            raise SlotTaken(f"slot {identity.slot_id} is held by a worker on {slot.host}")
        slot.incarnation = identity.incarnation
        slot.kind, slot.evaluator, slot.role = identity.kind, identity.evaluator, identity.role
        slot.host, slot.number, slot.queue = identity.host, identity.number, identity.queue
        slot.environment, slot.lanes = identity.environment, identity.lanes
        slot.lease_until_ms = now + round(leases.slot_lease_s * 1000)
        if slot.state is not SlotState.QUARANTINED:
            _change(slot, SlotState.STARTING, None, now)
        session.flush()
        return slot


def renew_slot(db: Database, slot_id: str, incarnation: str, leases: Leases) -> Slot:
    """Extend the slot's lease. Raises FenceLost where another worker has taken it."""
    with db.write() as session:
        slot = _held(session, slot_id, incarnation)
        slot.lease_until_ms = now_ms(session) + round(leases.slot_lease_s * 1000)
        return slot


def set_slot_state(
    db: Database,
    slot_id: str,
    incarnation: str | None,
    state: SlotState,
    reason: str | None = None,
    environment: dict[str, Any] | None = None,
) -> Slot:
    """Change what a slot may do, and what is known of its device; operators give no incarnation. Raises FenceLost."""
    with db.write() as session:
        slot = _held(session, slot_id, incarnation)
        _change(slot, state, reason, now_ms(session))
        if environment is not None:
            slot.environment = environment
        return slot


def note_probe(
    db: Database,
    slot_id: str,
    incarnation: str,
    probe: dict[str, Any],
    *,
    healthy: bool,
    environment: dict[str, Any] | None = None,
) -> Slot:
    """Record what a look at the device found, in which a starting or quarantined slot's future lies.

    A clean probe opens it (a held one drains), another keeps or puts it in quarantine. One that is closing stays as it
    is: its judge may be gone already. Raises FenceLost.
    """
    with db.write() as session:
        slot = _held(session, slot_id, incarnation)
        now = now_ms(session)
        slot.probe, slot.probed_at_ms = probe, now
        if environment is not None:
            slot.environment = environment
        if slot.state in (SlotState.DRAINING, SlotState.GONE):
            return slot
        if not healthy:
            _change(slot, SlotState.QUARANTINED, str(probe.get("detail", "the device is not well"))[:REASON_MAX], now)
        elif slot.held:
            _change(slot, SlotState.DRAINING, HELD, now)
        else:
            _change(slot, SlotState.READY, None, now)
        return slot


def quarantine(db: Database, slot_id: str, incarnation: str, reason: str) -> Slot:
    """Count a fault of the slot's device and take no more work there until a clean probe. Raises FenceLost."""
    with db.write() as session:
        slot = _held(session, slot_id, incarnation)
        now = now_ms(session)
        slot.faults += 1
        slot.fault, slot.fault_at_ms = reason[:REASON_MAX], now
        _change(slot, SlotState.QUARANTINED, slot.fault, now)
        return slot


def hold(db: Database, slot_id: str) -> Slot:
    """An operator's drain: what runs may end, nothing new is taken, not even by the next worker. Raises NotFound."""
    with db.write() as session:
        slot = _any(session, slot_id)
        slot.held = True
        if slot.state in (SlotState.STARTING, SlotState.READY, SlotState.DRAINING):
            _change(slot, SlotState.DRAINING, HELD, now_ms(session))
        return slot


def let_go(db: Database, slot_id: str) -> Slot:
    """End an operator's drain: the slot opens once its worker has found the device well. Raises NotFound."""
    with db.write() as session:
        slot = _any(session, slot_id)
        if slot.held and slot.state is SlotState.DRAINING:
            _change(slot, SlotState.STARTING, None, now_ms(session))
        slot.held = False
        return slot


def release_slot(db: Database, slot_id: str, incarnation: str) -> None:
    """Give the slot up at the end of a worker, so that the next one need not wait for the lease. Raises FenceLost."""
    with db.write() as session:
        slot = _held(session, slot_id, incarnation)
        now = now_ms(session)
        slot.lease_until_ms = now
        if slot.state is not SlotState.QUARANTINED:
            _change(slot, SlotState.GONE, None, now)


def _alive(slot: Slot, now: int) -> bool:
    return slot.state is not SlotState.GONE and slot.lease_until_ms > now


def _held(session: Session, slot_id: str, incarnation: str | None) -> Slot:
    slot = _lock(session, slot_id)
    if slot is None or (incarnation is not None and slot.incarnation != incarnation):
        raise FenceLost(f"slot {slot_id} belongs to another worker")
    return slot


def _any(session: Session, slot_id: str) -> Slot:
    slot = _lock(session, slot_id)
    if slot is None:
        raise NotFound(f"there is no slot {slot_id}")
    return slot


def _lock(session: Session, slot_id: str) -> Slot | None:
    return session.scalars(select(Slot).where(Slot.id == slot_id).with_for_update()).one_or_none()


def _change(slot: Slot, state: SlotState, reason: str | None, now: int) -> None:
    if slot.state is not state:
        slot.state_at_ms = now
    slot.state, slot.reason = state, reason
