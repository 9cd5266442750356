"""Admits grades to the device's memory, so that lanes do not starve each other's candidates."""

import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evaluator.errors import Cancelled
from evaluator.judge.clock import PhaseClock

# The rest is for the allocator's rounding.
USABLE_FRAC = 0.95
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Need:
    """`lasting_bytes` for as long as the grade runs; `passing_bytes` only while it holds the device."""

    lasting_bytes: int
    passing_bytes: int


class ShortOfMemory(Exception):
    """What failed may have failed because of the grades beside it, and counts only if it fails alone as well."""


@dataclass(eq=False)
class Admission:
    """A grade inside the budget; `shared` once another one was inside at the same time."""

    need: Need
    alone: bool
    shared: bool = False


class MemoryBudget:
    """A grade waits until it fits beside those that run and what lies idle; alone, it always runs.

    First come, first in: a large one, or one that wants to be alone, would wait for ever if smaller ones passed it.

    `idle_bytes` tells what is kept for later grades, and `known` what grades of a task turned out to need.
    """

    def __init__(self, total_bytes: int, idle_bytes: Callable[[], int] = lambda: 0) -> None:
        self._total_bytes = int(total_bytes * USABLE_FRAC)
        self._idle_bytes = idle_bytes
        self._admitted: list[Admission] = []
        self._waiting: list[Admission] = []
        self._changed = threading.Condition()
        self.known: dict[str, Need] = {}

    @contextmanager
    def admitted(
        self,
        need: Need,
        clock: PhaseClock,
        make_room: Callable[[int], None],
        interrupt_fd: int | None,
        *,
        alone: bool = False,
    ) -> Iterator[Admission]:
        """Inside, the grade may use what it needs.

        Where it has to wait for that, `make_room` is called with the bytes that may stay idle. With `alone` no other
        grade is inside, and nothing is idle. Raises Cancelled once `interrupt_fd` is readable.
        """
        began = time.monotonic()
        own = Admission(need, alone)
        with self._changed:
            self._waiting.append(own)
            try:
                self._await_turn(own, make_room, interrupt_fd)
            finally:
                self._waiting.remove(own)
                self._changed.notify_all()
            for other in self._admitted:
                own.shared = other.shared = True
            self._admitted.append(own)
        clock.waited(time.monotonic() - began)
        try:
            yield own
        finally:
            with self._changed:
                self._admitted.remove(own)
                self._changed.notify_all()

    def _await_turn(self, own: Admission, make_room: Callable[[int], None], interrupt_fd: int | None) -> None:
        stepped_aside = False
        while self._waiting[0] is not own or not self._fits(own, self._idle_bytes()):
            if self._waiting[0] is own and self._fits(own, 0):
                make_room(self._spare_bytes(own))  # what lies idle is all that is in the way
            elif not stepped_aside:
                make_room(self._idle_bytes())  # what the grade itself holds already
            else:
                self._wait(interrupt_fd)
            stepped_aside = True

    def holds(self, need: Need) -> bool:
        """Whether the device is large enough for it at all."""
        return need.lasting_bytes + need.passing_bytes <= self._total_bytes

    def _fits(self, own: Admission, idle_bytes: int) -> bool:
        others = self._admitted
        if own.alone:
            return not others and not idle_bytes
        if any(other.alone for other in others):
            return False
        return idle_bytes <= self._spare_bytes(own) or (not others and not idle_bytes)

    def _spare_bytes(self, own: Admission) -> int:
        """What this grade would leave beside the others; negative where it does not fit."""
        if own.alone:
            return 0
        inside = [own, *self._admitted]
        passing = max(admission.need.passing_bytes for admission in inside)
        return self._total_bytes - passing - sum(admission.need.lasting_bytes for admission in inside)

    def _wait(self, interrupt_fd: int | None) -> None:
        self._changed.wait(_LOOK_EVERY_S)
        if interrupt_fd is not None and select.select([interrupt_fd], [], [], 0)[0]:
            raise Cancelled("cancelled while waiting for memory")
