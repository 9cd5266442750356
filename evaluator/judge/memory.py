"""Admits grades to the device's memory, so that lanes do not starve each other's candidates."""

import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evaluator.errors import Cancelled
from evaluator.judge.clock import PhaseClock

# The rest is for CUDA contexts and the allocator's rounding.
USABLE_FRAC = 0.92
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Need:
    """`lasting_bytes` for as long as the grade runs; `passing_bytes` only while it holds the device."""

    lasting_bytes: int
    passing_bytes: int


class MemoryBudget:
    """A grade waits until it fits beside those that run; alone, it always runs."""

    def __init__(self, total_bytes: int) -> None:
        self._total_bytes = int(total_bytes * USABLE_FRAC)
        self._admitted: list[Need] = []
        self._changed = threading.Condition()

    @contextmanager
    def admitted(
        self, need: Need, clock: PhaseClock, make_room: Callable[[], None], interrupt_fd: int | None
    ) -> Iterator[None]:
        """Inside, the grade may use what it needs; `make_room` is called where it has to wait for that.

        Raises Cancelled once `interrupt_fd` is readable.
        """
        began = time.monotonic()
        with self._changed:
            if not self._fits(need):
                make_room()
            while not self._fits(need):
                self._wait(interrupt_fd)
            self._admitted.append(need)
        clock.waited(time.monotonic() - began)
        try:
            yield
        finally:
            with self._changed:
                self._admitted.remove(need)
                self._changed.notify_all()

    def wait_for_an_end(self, clock: PhaseClock, interrupt_fd: int | None) -> bool:
        """Wait until a running grade has ended; False at once if none runs."""
        began = time.monotonic()
        with self._changed:
            running = len(self._admitted)
            while running and len(self._admitted) >= running:
                self._wait(interrupt_fd)
        clock.waited(time.monotonic() - began)
        return running > 0

    def _fits(self, need: Need) -> bool:
        others = self._admitted
        passing = max([need.passing_bytes, *(other.passing_bytes for other in others)])
        lasting = need.lasting_bytes + sum(other.lasting_bytes for other in others)
        return not others or lasting + passing <= self._total_bytes

    def _wait(self, interrupt_fd: int | None) -> None:
        self._changed.wait(_LOOK_EVERY_S)
        if interrupt_fd is not None and select.select([interrupt_fd], [], [], 0)[0]:
            raise Cancelled("cancelled while waiting for memory")
