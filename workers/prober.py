"""Looks at a slot's device in a thread of its own, so that a judge that warms up or hangs costs no lease."""

import threading
import time
from collections.abc import Callable
from typing import Any

from structlog import get_logger

from evaluator.errors import GraderFault
from grading import jobs
from grading.errors import FenceLost
from grading.states import SlotState
from workers.evaluators import describe, probe
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

PAUSE_S = 2.0
PAUSE_MAX_S = 30.0


class Prober:
    """One probe at a time, each later than the last while the device is not well; `on_sick` is told of each failure."""

    def __init__(self, here: Runtime, on_sick: Callable[[], None], on_ready: Callable[[], None]) -> None:
        self._here = here
        self._on_sick, self._on_ready = on_sick, on_ready
        self._thread: threading.Thread | None = None
        self._next_at = 0.0
        self._pause_s = PAUSE_S

    def look(self) -> None:
        """Begin a probe if none is under way and one is due; returns at once."""
        if (self._thread is not None and self._thread.is_alive()) or time.monotonic() < self._next_at:
            return
        self._thread = threading.Thread(target=self._run, name="prober", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            found, environment, healthy = self._probe()
            self._record(found, environment, healthy=healthy)
        except TRANSIENT as error:
            log.warning("probe_not_recorded", error=repr(error))
            healthy = False
        except FenceLost as error:
            log.warning("probe_not_recorded", error=error.detail)  # the keeper finds out and ends the worker
            return
        self._pause_s = PAUSE_S if healthy else min(self._pause_s * 2, PAUSE_MAX_S)
        self._next_at = time.monotonic() + self._pause_s

    def _probe(self) -> tuple[dict[str, Any], dict[str, Any] | None, bool]:
        try:
            config, role = self._here.config, self._here.slot.role
            return probe(config, role), describe(config, role), True
        except GraderFault as fault:
            return {"ok": False, "code": fault.code, "detail": fault.detail[:500]}, None, False

    def _record(self, found: dict[str, Any], environment: dict[str, Any] | None, *, healthy: bool) -> None:
        slot = self._here.slot
        row = jobs.note_probe(
            self._here.db, slot.slot_id, slot.incarnation, found, healthy=healthy, environment=environment
        )
        if not healthy:
            log.warning("slot_sick", slot=slot.slot_id, code=found["code"], detail=found["detail"])
            self._on_sick()
        elif row.state is SlotState.READY:
            log.info("slot_ready", slot=slot.slot_id, queue=slot.queue, **found)
            self._on_ready()
        else:
            log.info("slot_closed", slot=slot.slot_id, state=str(row.state), reason=row.reason)
