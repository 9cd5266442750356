"""Slots: what each GPU does and how it is, and an operator's drain."""

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from sqlalchemy import select

from grading import jobs
from grading.cli.context import Operator, operator
from grading.cli.output import AsJson, show
from grading.clock import now_ms, to_rfc3339
from grading.errors import NotFound
from grading.jobs.load import running_counts
from grading.models import Slot
from grading.states import SlotState

COLUMNS = ("slot", "host", "kind", "state", "running", "lanes", "faults", "probed_at", "reason")
LOOK_S = 0.5

Names = Annotated[list[str] | None, typer.Argument(help="Slots, by id, queue or host.")]
All = Annotated[bool, typer.Option("--all", help="Every slot.")]


def _views(here: Operator) -> list[dict[str, Any]]:
    with here.db.read() as session:
        now, running = now_ms(session), running_counts(session)
        slots = session.scalars(select(Slot).order_by(Slot.host, Slot.number)).all()
    return [_view(slot, running[slot.id], now) for slot in slots]


def _view(slot: Slot, running: int, now: int) -> dict[str, Any]:
    lost = slot.state is not SlotState.GONE and slot.lease_until_ms <= now
    return {
        "slot": slot.id,
        "host": slot.host,
        "number": slot.number,
        "kind": slot.kind,
        "evaluator": slot.evaluator,
        "queue": slot.queue,
        "state": "lost" if lost else str(slot.state),
        "since": to_rfc3339(slot.state_at_ms),
        "held": slot.held,
        "running": running,
        "lanes": slot.lanes,
        "reason": slot.reason,
        "faults": slot.faults,
        "fault": slot.fault,
        "fault_at": to_rfc3339(slot.fault_at_ms),
        "probe": slot.probe,
        "probed_at": to_rfc3339(slot.probed_at_ms),
        "environment": slot.environment,
    }


def list_workers(as_json: AsJson = False) -> None:
    """List slots: state, running grades, faults, the last probe. `lost` is one whose worker is no longer heard of."""
    with operator() as here:
        show(_views(here), COLUMNS, as_json=as_json, empty="No worker has registered yet.")


def drain(
    names: Names = None,
    every: All = False,
    wait: Annotated[float, typer.Option(help="Wait up to so many seconds until nothing runs there.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Let slots finish what runs and take nothing new, until `undrain`; a restart of their workers changes nothing."""
    with operator() as here:
        ids = _apply(here, names, every, lambda slot_id: jobs.hold(here.db, slot_id))
        left = _wait_idle(here, ids, wait)
        _show(here, ids, as_json=as_json)
    if wait and left:
        raise typer.Exit(1)


def undrain(names: Names = None, every: All = False, as_json: AsJson = False) -> None:
    """Let slots take work again; each is probed first."""
    with operator() as here:
        ids = _apply(here, names, every, lambda slot_id: jobs.let_go(here.db, slot_id))
        _show(here, ids, as_json=as_json)


def _apply(here: Operator, names: Sequence[str] | None, every: bool, act: Callable[[str], Slot]) -> list[str]:
    """The slots meant, each acted upon. Raises NotFound before anything is done where a name is nobody's."""
    if bool(names) == every:
        raise typer.BadParameter("name slots, or say --all")
    ids = _resolve(here, names)
    for slot_id in ids:
        act(slot_id)
    return ids


def _resolve(here: Operator, names: Sequence[str] | None) -> list[str]:
    with here.db.read() as session:
        slots = session.scalars(select(Slot).order_by(Slot.host, Slot.number)).all()
    if not names:
        return [slot.id for slot in slots]
    found: list[str] = []
    for name in names:
        meant = [slot.id for slot in slots if name in (slot.id, slot.queue, slot.host)]
        if not meant:
            raise NotFound(f"there is no slot, queue or host {name}")
        found += meant
    return list(dict.fromkeys(found))


def _wait_idle(here: Operator, ids: Sequence[str], wait_s: float) -> bool:
    """Whether something still runs there at the end of the wait."""
    until = time.monotonic() + wait_s
    while True:
        with here.db.read() as session:
            running = running_counts(session)
        busy = any(running[slot_id] for slot_id in ids)
        if not busy or time.monotonic() > until:
            return busy
        time.sleep(LOOK_S)


def _show(here: Operator, ids: Sequence[str], *, as_json: bool) -> None:
    rows = [row for row in _views(here) if row["slot"] in ids]
    show(rows, ("slot", "state", "running", "reason"), as_json=as_json, empty="No slots.")
