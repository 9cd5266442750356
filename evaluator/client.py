"""The worker's end of the evaluator: start a judge, hand it submissions, follow their phases. Imports no torch."""

from collections.abc import Callable
from typing import Protocol

from evaluator.report import Report
from evaluator.submission import Submission

OnPhase = Callable[[str], None]


class Evaluator(Protocol):
    """Grades one submission at a time."""

    def evaluate(self, submission: Submission, on_phase: OnPhase) -> Report:
        """Block until there is a verdict; `on_phase` is called with the name of each phase as it begins.

        Raises GraderFault where we are at fault and Cancelled after `abort`.
        """

    def abort(self) -> None:
        """Called from another thread: kill the running evaluation, so that `evaluate` raises Cancelled."""
