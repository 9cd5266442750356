"""Phases of one grade with their seconds, and the time that is left of its limits."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evaluator.errors import SubmissionFault
from evaluator.verdicts import Verdict


class PhaseClock:
    """Times phases (`phases`, seconds by name) and tells a listener when one begins."""

    def __init__(self, on_phase: Callable[[str], None], run_s: float) -> None:
        self._on_phase = on_phase
        self._run_s = run_s
        self._began = time.monotonic()
        self._end = self._began + run_s
        self.phases: dict[str, float] = {}
        self.device_held: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Everything inside counts as `name`; a name may come again."""
        self._on_phase(name)
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = round(self.phases.get(name, 0.0) + time.monotonic() - started, 4)

    def waited(self, seconds: float) -> None:
        """Time spent waiting for the device: a phase of its own, and not the candidate's."""
        self._end += seconds
        self.phases["device_wait"] = round(self.phases.get("device_wait", 0.0) + seconds, 4)

    def note_held(self, purpose: str, seconds: float) -> None:
        """Add to the seconds for which this grade held the device."""
        self.device_held[purpose] = round(self.device_held.get(purpose, 0.0) + seconds, 4)

    @property
    def device_held_frac(self) -> float:
        """The share of the time since the grade began for which it held the device."""
        return round(sum(self.device_held.values()) / max(time.monotonic() - self._began, 1e-9), 4)

    def restart_run(self) -> None:
        """Start the run limit anew: a build has a limit of its own."""
        self._end = time.monotonic() + self._run_s

    def remaining_s(self) -> float:
        """Seconds left of the whole run."""
        return self._end - time.monotonic()

    def limit(self, limit_s: float) -> float:
        """The smaller of a step's own limit and what is left. Raises SubmissionFault when nothing is left."""
        remaining = self.remaining_s()
        if remaining <= 0:
            raise SubmissionFault(Verdict.TIMEOUT, f"the whole run took longer than {self._run_s:g} s")
        return min(limit_s, remaining)
