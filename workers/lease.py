"""Keeps one claim alive while it is graded, and ends the grade when the claim is lost."""

import contextvars
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from structlog import get_logger

from grading import jobs
from grading.errors import FenceLost
from grading.jobs import Claim
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

# without hints of cancellations the fence is looked at this often
LOOK_S = 0.5
# a phase that is over sooner was none that anybody could watch, and costs no write
PHASE_SETTLES_S = 0.1


class Lease:
    """A thread that renews by fence and notes phases, and aborts the evaluation when the row is no longer ours.

    A renewal that errors is retried while grading goes on: the claim is valid until somebody raises the fence.
    """

    def __init__(self, here: Runtime, claim: Claim, abort: Callable[[], None]) -> None:
        self._here, self._claim, self._abort = here, claim, abort
        self._changed = threading.Condition()
        self._phase: str | None = None
        self._look_now = False
        self._over = False
        self._ending = False
        # what its thread logs is about the claim too
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=[self._run], name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()

    def on_phase(self, phase: str) -> None:
        """To be called as a phase begins; returns at once."""
        with self._changed:
            self._phase = phase
            self._changed.notify()

    def look(self) -> None:
        """Look at the fence now."""
        with self._changed:
            self._look_now = True
            self._changed.notify()

    def ending(self) -> None:
        """The end is about to be written: keep the claim until then, but a row that is ours no more is no news."""
        self._ending = True

    def _run(self) -> None:
        renew_s = self._here.settings.leases.renew_s
        renew_at = time.monotonic() + renew_s
        while True:
            with self._changed:
                pause_s = renew_s if self._here.cancels.listening else LOOK_S
                until_s = min(renew_at - time.monotonic(), pause_s)
                self._changed.wait_for(lambda: self._over or self._phase or self._look_now, timeout=max(until_s, 0.0))
                if self._phase and not self._look_now:
                    self._changed.wait_for(lambda: self._over or self._look_now, timeout=PHASE_SETTLES_S)
                if self._over:
                    return
                phase, self._phase, self._look_now = self._phase, None, False
            try:
                self._write(phase)
                renew_at = time.monotonic() + renew_s
            except TRANSIENT as error:
                log.warning("renewal_failed", error=repr(error))
                renew_at = time.monotonic() + LOOK_S
            except FenceLost as error:
                self._lose(error)
                return

    def _lose(self, error: FenceLost) -> None:
        if not self._ending:
            log.warning("claim_lost", detail=error.detail)
            self._abort()

    def _write(self, phase: str | None) -> None:
        here, claim = self._here, self._claim
        jobs.renew(here.db, claim.submission_id, claim.fence, here.settings.leases, phase)
