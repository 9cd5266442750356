"""Keeps the benches of recent tasks warm: reference model, segments and the trusted runner, by least recent use."""

import threading
from collections.abc import Callable

from evaluator.errors import GraderFault
from evaluator.judge.bench import Bench

IDLE_MAX = 8
# Idle benches may hold this share of the memory that was free when the judge started. They make room for grades that
# need it, and making one again costs a task of some GB a second of the device.
IDLE_SHARE = 0.6


class BenchCache:
    """`take` gives a bench to one grade alone; two grades of one task get two benches."""

    def __init__(self, make: Callable[[str], Bench], idle_bytes_max: int) -> None:
        self._make = make
        self._idle_bytes_max = idle_bytes_max
        self._idle: list[Bench] = []  # least recently used first
        self._lock = threading.Lock()

    def take(self, task_id: str) -> Bench:
        """A warm bench of the task or a new one. Raises GraderFault. The caller holds the device."""
        with self._lock:
            found = next((bench for bench in reversed(self._idle) if bench.reference.task_id == task_id), None)
            if found is not None:
                self._idle.remove(found)
                return found
        try:
            return self._make(task_id)
        except GraderFault as fault:
            if fault.code != "device_memory" or not self._idle:
                raise
        self.shrink(0)
        return self._make(task_id)

    def give_back(self, bench: Bench) -> None:
        """Keep the bench for the next grade of its task, and let the oldest go where they are too many."""
        with self._lock:
            self._idle.append(bench)
            while len(self._idle) > IDLE_MAX:
                self._idle.pop(0).close()
        self.shrink(self._idle_bytes_max)

    def idle_bytes(self) -> int:
        """Device memory of all idle benches."""
        with self._lock:
            return self._held_bytes()

    def shrink(self, bytes_max: int) -> None:
        """Let idle benches go, the least recently used first, until they hold no more than that."""
        with self._lock:
            while self._held_bytes() > bytes_max:
                self._idle.pop(0).close()

    def _held_bytes(self) -> int:
        return sum(bench.held_bytes for bench in self._idle)
