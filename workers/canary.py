"""Lets the canary sing when it is due, in a thread of its own, and writes down what it found."""

import threading
import time

from structlog import get_logger

from evaluator.errors import GraderFault
from grading import jobs
from grading.errors import FenceLost
from grading.states import SlotRole
from workers.evaluators import canary
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

# The device was busy, or the database away: soon again.
PAUSE_S = 30.0


class CanaryWatch:
    """Looks every `canary_s` seconds, and as soon as the slot has opened; a device that fails is quarantined."""

    def __init__(self, here: Runtime) -> None:
        self._here = here
        self._thread: threading.Thread | None = None
        self._next_at = 0.0

    def due(self) -> None:
        """Look at the next chance: the device has only started, or something was wrong with it."""
        self._next_at = 0.0

    def look(self) -> None:
        """Begin a look if none is under way and one is due; returns at once."""
        running = self._thread is not None and self._thread.is_alive()
        if running or time.monotonic() < self._next_at or self._here.slot.role is SlotRole.BUILDER:
            return
        self._next_at = time.monotonic() + PAUSE_S
        self._thread = threading.Thread(target=self._run, name="canary", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        slot = self._here.slot
        try:
            found = canary(self._here.config)
            if found is None:
                log.info("canary_waits", slot=slot.slot_id)
                return
            jobs.note_canary(self._here.db, slot.slot_id, slot.incarnation, found)
            log.info("canary", slot=slot.slot_id, **{name: found[name] for name in ("drift_frac", "noise_floor_frac")})
            self._next_at = time.monotonic() + self._here.settings.leases.canary_s
        except GraderFault as fault:
            self._failed(fault)
        except TRANSIENT as error:
            log.warning("canary_not_recorded", error=repr(error))
        except FenceLost as error:
            log.warning("canary_not_recorded", error=error.detail)  # the keeper finds out and ends the worker

    def _failed(self, fault: GraderFault) -> None:
        slot = self._here.slot
        log.warning("canary_failed", slot=slot.slot_id, code=fault.code, detail=fault.detail[:500])
        if fault.code != "device_fault":
            return  # the judge is being replaced, and the grades that it held report that
        found = {"ok": False, "code": fault.code, "detail": fault.detail[:500]}
        try:
            # As a probe that fails, which the keeper repeats: a fault is counted by the grade that it cost.
            jobs.note_probe(self._here.db, slot.slot_id, slot.incarnation, found, healthy=False)
        except (*TRANSIENT, FenceLost) as error:
            log.warning("quarantine_not_recorded", error=repr(error))
