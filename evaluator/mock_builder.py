"""The `mock` evaluator's builder: real static checks, and made-up products that take the way of real ones."""

import hashlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.build import handover
from evaluator.builder import Built
from evaluator.client import OnPhase
from evaluator.config import EvaluatorConfig
from evaluator.errors import Cancelled, GraderFault
from evaluator.mock import EVAL_MAX_S, FINGERPRINT, PHASES, MockEvaluator, directive, drawn, number, since
from evaluator.prebuilt import Prebuilt, Product
from evaluator.report import Report
from evaluator.static import broken_rules, check
from evaluator.submission import Submission
from evaluator.verdicts import Verdict
from evaluator.version import VERSION


class MockBuilder:
    """Implements `evaluator.builder.Builder` in the calling process.

    A submission whose verdict is one of the first two stages gets it here, as it does from a real builder.
    """

    def __init__(self, config: EvaluatorConfig) -> None:
        self._config = config
        self._aborted = threading.Event()

    def build(self, submission: Submission, architectures: Sequence[str], on_phase: OnPhase) -> Built | Report:
        """See Builder; takes as long as the phase `compile` of the mock evaluator."""
        on_phase("format")
        outcome, options = directive(submission.code)
        if "build_fault" in options:
            raise GraderFault(options["build_fault"], "the source asked the mock builder for a fault")
        if self._refused(submission) or (outcome or drawn(submission)[0]) == Verdict.COMPILE_ERROR:
            return MockEvaluator(self._config).evaluate(submission, on_phase)
        started = time.monotonic()
        on_phase("build")
        build_s = number(options, "build_s", self._config.mock_eval_s / len(PHASES))
        if self._aborted.wait(min(build_s, EVAL_MAX_S)):
            raise Cancelled("the mock build was aborted")
        made = [self._product(submission, architecture) for architecture in architectures]
        found = sum(was_there for _, was_there in made)
        return Built(tuple(each for each, _ in made), {"build": since(started)}, len(made) - found, found)

    def _refused(self, submission: Submission) -> bool:
        found = check(submission.code, submission.language, source_bytes_max=self._config.limits.source_bytes)
        return bool(broken_rules(found))

    def _product(self, submission: Submission, architecture: str) -> tuple[Prebuilt, bool]:
        """And whether the cache had it."""
        content = f"mock {architecture}\n{submission.code}".encode("utf-8", "replace")
        digest = hashlib.sha256(content).hexdigest()
        product = Product(f"{digest[:32]}.extension.so", digest)
        was_there = handover.kept(product, self._config.extensions_dir) is not None
        handover.keep(product, content, self._config.extensions_dir)
        return Prebuilt(architecture, FINGERPRINT, (product,)), was_there

    def abort(self) -> None:
        """See Builder."""
        self._aborted.set()

    def describe(self) -> dict[str, Any]:
        """As a builder describes its tools."""
        return {"evaluator": "mock", "grader": VERSION, "mock": True}

    def probe(self) -> dict[str, Any]:
        """It can build unless there is a file `mock-builder.sick` in the state folder. Raises GraderFault."""
        if Path(self._config.state_dir, "mock-builder.sick").exists():
            raise GraderFault("no_compiler", "the mock builder was made sick")
        return {"ok": True, "mock": True}

    def close(self) -> None:
        """Nothing is held."""
