"""Keeps the benches of recent tasks warm: reference model, segments and the trusted runner, by least recent use."""

import threading
from collections.abc import Callable

from evaluator.errors import GraderFault
from evaluator.judge.bench import Bench

IDLE_MAX = 8
# Idle benches may hold this share of the memory that was free when the judge started; the rest is for those at work.
IDLE_SHARE = 0.25


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
        self.clear()
        return self._make(task_id)

    def give_back(self, bench: Bench) -> None:
        """Keep the bench for the next grade of its task, and let the oldest go where they are too many."""
        with self._lock:
            self._idle.append(bench)
            while len(self._idle) > IDLE_MAX or sum(b.held_bytes for b in self._idle) > self._idle_bytes_max:
                self._idle.pop(0).close()

    def clear(self) -> None:
        """Let all idle benches go."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()
