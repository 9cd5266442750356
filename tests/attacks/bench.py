"""A warm judge in this process, what it leaves lying about, and the honest kernel that must always pass."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import psutil

from evaluator.config import EvaluatorConfig
from evaluator.judge.grade import Judge
from evaluator.limits import Limits
from evaluator.report import Report
from evaluator.reward import reward
from evaluator.sandbox import kernel, processes
from evaluator.submission import Language, Submission

ROOT = Path(__file__).parents[2]
CANARY = "canary-2718281828"
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
    "gpu": Limits(first_call_s=60.0, call_s=5.0, timing_s=1.0, timing_pairs_max=12),
}


class Grader:
    """Grades sources in a judge that stays warm."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._count = 0

    def grade(self, code: str, task: str, language: Language = "triton") -> Report:
        self._count += 1
        submission = Submission(f"sub_{self._count}", task, code, language, secrets.token_hex(32))
        return self._judge.grade(submission, lambda phase: None)

    def grade_unchecked(self, code: str, task: str, language: Language = "triton") -> Report:
        """The same for a source that the static check has nothing against, whatever it says."""
        with mock.patch("evaluator.judge.grade.check", return_value=[]):
            return self.grade(code, task, language)

    def footprint(self) -> "Footprint":
        uids = {pen._leash.hold.uid for pen in self._judge._pens}
        return Footprint.take(frozenset(uid for uid in uids if uid is not None))

    def honest(self) -> Report:
        return self.grade(HONEST, HONEST_TASK)


@contextmanager
def grader(kind: str) -> Iterator[Grader]:
    """A judge with short limits, in whose environment lies a secret."""
    with tempfile.TemporaryDirectory() as state_dir:
        os.environ["KERNEL_ENV_CANARY"] = os.environ["DATABASE_URL_CANARY"] = CANARY
        tasks_dir = str(ROOT / "kernelbench_tasks")
        judge = Judge(EvaluatorConfig("gpu" if kind == "gpu" else "cpu", tasks_dir, state_dir, limits=LIMITS[kind]))
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


# What attacks of the corpus try to leave in folders that everybody may write to.
LEAVINGS = ("filler-", "breach-", "sitecustomize", "usercustomize")


@dataclass(frozen=True)
class Footprint:
    """What this process and its runners hold: what must be the same before and after."""

    descriptors: int
    children: frozenset[str]
    ports: frozenset[int]
    left: frozenset[str]
    memory_bytes: int

    @classmethod
    def take(cls, uids: frozenset[int]) -> "Footprint":
        """`uids` are those that this process's runners have."""
        me = psutil.Process()
        family = [me, *me.children(recursive=True)]
        strays = processes.running(lambda process: process.uid in uids and not process.gone)
        left = [path for folder in ("/dev/shm", tempfile.gettempdir(), "/var/tmp") for path in Path(folder).iterdir()]
        mine = (f"-{os.getpid()}-", *LEAVINGS)
        return cls(
            descriptors=me.num_fds(),
            children=frozenset(" ".join(child.cmdline()) for child in family[1:]),
            ports=frozenset(c.laddr.port for one in family for c in one.net_connections() if c.status == "LISTEN"),
            left=frozenset(
                [
                    *(str(path) for path in left if any(mark in path.name for mark in mine)),
                    *(f"pid {process.pid}" for process in strays),
                ]
            ),
            memory_bytes=me.memory_info().rss,
        )
