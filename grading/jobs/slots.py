"""Slots: who serves a GPU now. A slot has a lease of its own, and a second worker for the same GPU waits for it."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.db import Database
from grading.errors import FenceLost, SlotTaken
from grading.models import Slot
from grading.settings import Leases
from grading.states import SlotState


@dataclass(frozen=True)
class SlotIdentity:
    """`slot_id` is the device's own name (a GPU's UUID); `incarnation` names this start of its worker."""

    slot_id: str
    incarnation: str
    kind: str
    evaluator: str
    host: str
    number: int
    queue: str
    environment: dict[str, Any] = field(default_factory=dict)


def register_slot(db: Database, identity: SlotIdentity, leases: Leases) -> Slot:
    """Take the slot, in state `starting`. Raises SlotTaken while another incarnation's lease runs.

    A quarantine outlives the worker: a sick GPU does not become healthy by a restart.
    """
    with db.write() as session:
        now = now_ms(session)
        slot = session.scalars(select(Slot).where(Slot.id == identity.slot_id).with_for_update()).one_or_none()
        if slot is None:
            slot = Slot(id=identity.slot_id, state=SlotState.STARTING, registered_at_ms=now, state_at_ms=now)
            session.add(slot)
        elif slot.incarnation != identity.incarnation and _alive(slot, now):
            raise SlotTaken(f"slot {identity.slot_id} is held by a worker on {slot.host}")
        slot.incarnation = identity.incarnation
        slot.kind, slot.evaluator = identity.kind, identity.evaluator
        slot.host, slot.number, slot.queue = identity.host, identity.number, identity.queue
        slot.environment = identity.environment
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
    slot = session.scalars(select(Slot).where(Slot.id == slot_id).with_for_update()).one_or_none()
    if slot is None or (incarnation is not None and slot.incarnation != incarnation):
        raise FenceLost(f"slot {slot_id} belongs to another worker")
    return slot


def _change(slot: Slot, state: SlotState, reason: str | None, now: int) -> None:
    if slot.state is not state:
        slot.state_at_ms = now
    slot.state, slot.reason = state, reason
