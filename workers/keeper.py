"""In a slot's main process: keeps the lease, wakes the slot when rows wait, notices when it is deaf or sick."""

import os
import threading
import time

from structlog import get_logger

from grading import jobs
from grading.errors import FenceLost
from grading.jobs import SlotIdentity
from grading.queries import slot_is_idle
from grading.states import SlotState
from workers.canary import CanaryWatch
from workers.judge_step import JudgeStep
from workers.prober import Prober
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

EX_TEMPFAIL = 75
SHUTTING_DOWN = "the worker is shutting down"


class Keeper:
    """A thread with one turn every `idle_look_s`; runs from when the worker consumes until it stops."""

    def __init__(self, here: Runtime) -> None:
        self._here = here
        self._slot: SlotIdentity = here.slot
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        self._prober = Prober(here, on_sick=JudgeStep.replace, on_ready=here.look_for_more)
        self._canary = CanaryWatch(here)
        self._deaf_since: float | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, if it was started; may be called again."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
            except TRANSIENT as error:
                log.warning("keeper_without_database", error=repr(error))
            except FenceLost as error:
                log.error("slot_lost", detail=error.detail)
                os._exit(EX_TEMPFAIL)  # another worker serves this GPU: everything here must end, the judge included
            self._stopping.wait(self._here.settings.leases.idle_look_s)

    def _turn(self) -> None:
        slot = jobs.renew_slot(self._here.db, self._slot.slot_id, self._slot.incarnation, self._here.settings.leases)
        if slot.state in (SlotState.STARTING, SlotState.QUARANTINED):
            self._prober.look()
            self._canary.due()
        elif slot.state is SlotState.READY:
            self._here.look_for_more()
            self._watch_hearing()
            self._canary.look()

    def _watch_hearing(self) -> None:
        """An idle slot with bells in its queue that it does not answer has a dead consumer: start afresh."""
        # without its broker a worker is not deaf, there is nothing to hear
        if not self._here.backlog.bells_in(self._slot.queue) or not self._idle():
            self._deaf_since = None
            return
        self._deaf_since = self._deaf_since or time.monotonic()
        if time.monotonic() - self._deaf_since > self._here.settings.leases.deaf_s:
            log.error("slot_deaf", slot=self._slot.slot_id, queue=self._slot.queue)
            os._exit(EX_TEMPFAIL)

    def _idle(self) -> bool:
        with self._here.db.read() as session:
            return slot_is_idle(session, self._slot.slot_id)

    def drain(self) -> None:
        """Take no more work."""
        try:
            jobs.set_slot_state(
                self._here.db, self._slot.slot_id, self._slot.incarnation, SlotState.DRAINING, SHUTTING_DOWN
            )
        except (*TRANSIENT, FenceLost) as error:
            log.warning("drain_not_recorded", error=repr(error))
