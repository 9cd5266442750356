"""A warm judge in this process, and the honest kernel that must always pass."""

import itertools
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from evaluator.config import EvaluatorConfig
from evaluator.judge.clock import PhaseClock
from evaluator.judge.grade import Judge
from evaluator.limits import Limits
from evaluator.report import Report
from evaluator.reward import CORRECT_BASE, reward
from evaluator.sandbox import kernel
from evaluator.submission import Language, Submission
from evaluator.verdicts import Verdict
from tests.attacks.corpus import Attack

ROOT = Path(__file__).parents[2]
PARTIAL = 0.05
REFUSALS = (Verdict.FORMAT_VIOLATION, Verdict.REJECTED_TIMING)
CANARY = "canary-2718281828"
# Interpreted kernels are far slower than the reference; where a busy machine hides that, they count as as fast as it.
# On a GPU the copying ones are as fast.
PAYS_MOST = {"cpu": CORRECT_BASE, "cuda": 0.65}
HONEST_TASK = "level1/19_ReLU"
HONEST = (ROOT / "benchmarks/kernels/triton/relu.py").read_text()

LIMITS = {
    "cpu": Limits(
        first_call_s=4.0,
        call_s=3.0,
        cpu_timing_s=0.05,
        timing_pairs_max=4,
        correctness_trials=3,
        runner_memory_bytes=1 << 30,
    ),
    "gpu": Limits(first_call_s=15.0, call_s=4.0, timing_s=0.7, timing_pairs_max=12),
}


class Grader:
    """Grades sources in a judge that stays warm."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._count = itertools.count(1)

    def grade(self, code: str, task: str, language: Language = "triton") -> Report:
        submission = Submission(f"sub_{next(self._count)}", task, code, language, secrets.token_hex(32))
        return self._judge.grade(submission, lambda phase: None)

    def grade_unchecked(self, code: str, task: str, language: Language = "triton") -> Report:
        """The same for a source that the static check has nothing against, whatever it says."""
        with static_check_off():
            return self.grade(code, task, language)

    def build(self, code: str, task: str) -> None:
        """Bring a CUDA source's extensions into the cache. Raises SubmissionFault."""
        self._judge._builder.build(Submission("build", task, code, "cuda", "00"), PhaseClock(lambda _: None, 600.0))

    @property
    def uids(self) -> frozenset[int]:
        """Those that this judge's runners have."""
        uids = {pen._leash.hold.uid for pen in self._judge._pens}
        return frozenset(uid for uid in uids if uid is not None)

    def honest(self) -> Report:
        return self.grade(HONEST, HONEST_TASK)


@contextmanager
def static_check_off() -> Iterator[None]:
    """Every source passes the first stage in here."""
    with mock.patch("evaluator.gate.check", return_value=[]):
        yield


@contextmanager
def grader(kind: str, lanes: int = 1) -> Iterator[Grader]:
    """A judge with short limits, in whose environment lies a secret."""
    with tempfile.TemporaryDirectory() as state_dir:
        os.environ["KERNEL_ENV_CANARY"] = os.environ["DATABASE_URL_CANARY"] = CANARY
        tasks_dir = str(ROOT / "kernelbench_tasks")
        evaluator = "gpu" if kind == "gpu" else "cpu"
        judge = Judge(EvaluatorConfig(evaluator, tasks_dir, state_dir, lanes=lanes, limits=LIMITS[kind]))
        try:
            yield Grader(judge)
        finally:
            judge.close()
            kernel.prctl(
                kernel.PR_SET_DUMPABLE, 1
            )  # the judge closed this process to its user; other tests look into it
            del os.environ["KERNEL_ENV_CANARY"], os.environ["DATABASE_URL_CANARY"]


def paid(report: Report) -> float:
    """The reward with partial credit on, the most that any setting pays."""
    speedup = report.timing.speedup if report.timing else None
    return reward(report.verdict, speedup=speedup, roofline_frac=report.roofline_frac, partial_credit=True)


def wrongs(report: Report, attack: Attack) -> list[str]:
    """What is wrong with the outcome of an attack."""
    most = PARTIAL
    if attack.pays:
        most = PAYS_MOST[str(report.environment["device"])]
    found = {
        f"verdict {report.verdict}": report.verdict not in attack.verdicts,
        "no rule is named": report.verdict in REFUSALS and not report.rules,
        f"paid {paid(report)}": paid(report) > most and not attack.remains,
        "a secret in the feedback": CANARY in report.feedback,
        "a wall is open": "RuntimeError: BREACH" in report.feedback,
        "too much feedback": len(report.feedback.encode()) > LIMITS["cpu"].feedback_bytes,
    }
    return [name for name, wrong in found.items() if wrong]
