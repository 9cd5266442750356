"""Celery's worker as a slot runs it: it waits for the running grade on SIGTERM, but no longer than that takes."""

import time

from celery.apps.worker import Worker
from celery.worker import state
from structlog import get_logger

from grading.queries import slot_is_idle
from workers.keeper import Keeper
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

LOOK_S = 0.2


class SlotWorker(Worker):  # type: ignore[misc]
    """One slot's worker."""

    here: Runtime
    keeper: Keeper

    def wait_for_soft_shutdown(self) -> None:
        """Take no more work, then give the running grade its grace. Celery's own wait is always the full time."""
        self.keeper.stop()
        self.keeper.drain()
        until = time.monotonic() + self.app.conf.worker_soft_shutdown_timeout
        while tuple(state.active_requests) and time.monotonic() < until and not self._idle():
            time.sleep(LOOK_S)

    def _idle(self) -> bool:
        try:
            with self.here.db.read() as session:
                return slot_is_idle(session, self.here.slot.slot_id)
        except TRANSIENT as error:
            log.warning("drain_without_database", error=repr(error))
            return False
