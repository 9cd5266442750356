"""Turns on the device: one grade holds it at a time, and what it held it for is recorded."""

import select
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from evaluator.errors import Cancelled
from evaluator.judge.clock import PhaseClock

_LOOK_EVERY_S = 0.05


class DeviceBusy(Exception):
    """The device, or its memory, was not free in time; another time it may be."""


class DeviceTurn:
    """A lock around everything that uses the device or torch's global state in the judge's process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def held(
        self, clock: PhaseClock, purpose: str, interrupt_fd: int | None, patience_s: float | None = None
    ) -> Iterator[None]:
        """Hold the device; the time of waiting counts for no limit.

        Raises Cancelled if `interrupt_fd` is readable, and DeviceBusy after `patience_s` seconds of waiting.
        """
        waiting_since = time.monotonic()
        while not self._lock.acquire(timeout=_LOOK_EVERY_S):
            if interrupt_fd is not None and select.select([interrupt_fd], [], [], 0)[0]:
                raise Cancelled("cancelled while waiting for the device")
            if patience_s is not None and time.monotonic() - waiting_since > patience_s:
                raise DeviceBusy
        started = time.monotonic()
        clock.waited(started - waiting_since)
        try:
            yield
        finally:
            clock.note_held(purpose, time.monotonic() - started)
            self._lock.release()

    @contextmanager
    def lent(self, clock: PhaseClock, purpose: str, interrupt_fd: int | None, at_most_s: float) -> Iterator[None]:
        """As `held`, for a candidate's code without a clock on it: a slow one is left alone after `at_most_s` seconds,
        and the device goes to others meanwhile."""
        with ExitStack() as turn:
            turn.enter_context(self.held(clock, purpose, interrupt_fd))
            closing = threading.Lock()

            def give_back() -> None:
                with closing:  # the second to come finds nothing left to give back
                    turn.close()

            timer = threading.Timer(at_most_s, give_back)
            timer.start()
            try:
                yield
            finally:
                timer.cancel()
                give_back()
