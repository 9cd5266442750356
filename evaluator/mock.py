"""The `mock` evaluator: real static checks, and a verdict that is a function of task and source alone.

For trainers' own tests, on machines that grade nothing. A comment line of the source may ask for an outcome:

    # mock: correct speedup=2.5
    # mock: incorrect
    # mock: timeout eval_s=0.3          (any verdict's name; how long the grade takes, in seconds)
    # mock: drawn eval_s=0.3            (the verdict from the hash)
    # mock: fault code=device_fault     (we fail: no verdict)
    # mock: correct build_s=0.3         (how long the build of a CUDA source takes, where a builder does it)

Without one, the outcome is drawn from a hash. Every result says `mock`, in its environment and in its feedback.
"""

import hashlib
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.build import handover
from evaluator.client import OnPhase
from evaluator.config import EvaluatorConfig
from evaluator.errors import Cancelled, GraderFault
from evaluator.report import Report, Timing
from evaluator.run_time_rules import RunTimeRule
from evaluator.static import broken_rules, check, render
from evaluator.submission import Submission
from evaluator.verdicts import Verdict
from evaluator.version import VERSION

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*mock:[ \t]*(\w+)((?:[ \t]+\w+=[\w.]+)*)[ \t]*$", re.MULTILINE)
EVAL_MAX_S = 600.0
T_REF_MS = 1.0
SPREAD = 0.001
PHASES = ("compile", "correctness", "timing")
# what a build of `evaluator.mock_builder` fits
FINGERPRINT = "mock"
# out of 16 hashes; half are correct, so that a trainer's test sees every reward soon
DRAW = (
    *(Verdict.CORRECT,) * 8,
    *(Verdict.INCORRECT,) * 3,
    *(Verdict.COMPILE_ERROR,) * 2,
    Verdict.RUNTIME_ERROR,
    Verdict.TIMEOUT,
    Verdict.REJECTED_TIMING,
)

# what a judge most often finds with these verdicts
MADE_UP_RULES: dict[Verdict, Sequence[str]] = {
    Verdict.FORMAT_VIOLATION: (RunTimeRule.TORCH_IN_FORWARD,),
    Verdict.REJECTED_TIMING: (RunTimeRule.CLAIMED_TIME,),
}


class MockEvaluator:
    """Implements `evaluator.client.Evaluator` in the calling process; one evaluation at a time."""

    def __init__(self, config: EvaluatorConfig) -> None:
        self._config = config
        self._aborted = threading.Event()

    def evaluate(self, submission: Submission, on_phase: OnPhase) -> Report:
        """See Evaluator; takes `mock_eval_s`, spread over the phases."""
        started = time.monotonic()
        on_phase("format")
        findings = check(submission.code, submission.language, source_bytes_max=self._config.limits.source_bytes)
        if broken := broken_rules(findings):
            phases = {"format": since(started)}
            return self._report(Verdict.FORMAT_VIOLATION, render(findings), None, phases, broken)
        outcome, options = directive(submission.code)
        fits = handover.take(submission.prebuilt, FINGERPRINT, self._config.extensions_dir)
        wanted = PHASES if fits is None else PHASES[1:]
        phases = {"format": since(started)} | self._pass_time(options, wanted, on_phase)
        if outcome == "fault":
            raise GraderFault(options.get("code", "device_fault"), "the source asked the mock evaluator for a fault")
        verdict, speedup = drawn(submission)
        if outcome is not None:
            verdict, speedup = Verdict(outcome), number(options, "speedup", 2.0)
        timed = verdict is Verdict.CORRECT
        feedback = f"mock: {verdict}, made up from the source without running it"
        return self._report(verdict, feedback, speedup if timed else None, phases, MADE_UP_RULES.get(verdict, ()))

    def abort(self) -> None:
        """See Evaluator."""
        self._aborted.set()

    def describe(self) -> dict[str, Any]:
        """As a judge describes its device."""
        return {"gpu": "mock", "evaluator": "mock", "grader": VERSION, "mock": True}

    def probe(self) -> dict[str, Any]:
        """The device is well unless there is a file `mock-INDEX.sick` in the state folder. Raises GraderFault."""
        if Path(self._config.state_dir, f"mock-{self._config.gpu_index}.sick").exists():
            raise GraderFault("device_fault", "the mock device was made sick")
        return {"ok": True, "mock": True}

    def canary(self) -> dict[str, Any]:
        """A device that does nothing neither drifts nor makes noise. Raises GraderFault for a sick one."""
        self.probe()
        return {"kernels": {}, "noise_floor_frac": 0.0, "drift_frac": 0.0, "mock": True}

    def close(self) -> None:
        """Nothing is held."""

    def _pass_time(self, options: dict[str, str], wanted: Sequence[str], on_phase: OnPhase) -> dict[str, float]:
        eval_s = min(number(options, "eval_s", self._config.mock_eval_s), EVAL_MAX_S)
        phases = {}
        for phase in wanted:
            started = time.monotonic()
            on_phase(phase)
            if self._aborted.wait(eval_s / len(PHASES)):
                raise Cancelled("the mock evaluation was aborted")
            phases[phase] = since(started)
        return phases

    def _report(
        self,
        verdict: Verdict,
        feedback: str,
        speedup: float | None,
        phases: dict[str, float],
        rules: Sequence[str],
    ) -> Report:
        timing = None
        if speedup is not None:
            interval = (speedup * (1 - SPREAD), speedup * (1 + SPREAD))
            timing = Timing(T_REF_MS, T_REF_MS / speedup, speedup, interval, pairs=10)
        environment = {**self.describe(), "device": "mock", "isolation": {}}
        return Report(verdict, feedback, timing=timing, environment=environment, phases=phases, rules=list(rules))


def directive(code: str) -> tuple[str | None, dict[str, str]]:
    """What the first directive of a source asks for: an outcome (None where it asks for none) and its options."""
    found = DIRECTIVE.search(code)
    if found is None:
        return None, {}
    outcome, options = found[1], dict(option.split("=", 1) for option in found[2].split())
    known = outcome == "fault" or outcome in {str(verdict) for verdict in Verdict}
    return (outcome if known else None), options


def drawn(submission: Submission) -> tuple[Verdict, float]:
    """(verdict, speedup) of a source that asks for nothing: the same for the same task and source, always."""
    digest = hashlib.sha256(f"{submission.task_id}\n{submission.code}".encode("utf-8", "replace")).digest()
    return DRAW[digest[0] % len(DRAW)], round(2 ** (digest[1] / 64 - 1), 3)


def number(options: dict[str, str], name: str, default: float) -> float:
    """A positive, finite option of a directive, or the default."""
    try:
        value = float(options.get(name, default))
    except ValueError:
        return default
    return value if 0 < value < float("inf") else default


def since(started: float) -> float:
    """Seconds on the monotonic clock."""
    return round(time.monotonic() - started, 6)
