"""What the timing of a GPU adds to that of a CPU, on a bench whose times are scripted: rows of forwards."""

from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.errors import SubmissionFault
from evaluator.judge.call import CheckedCall, Construction
from evaluator.judge.timed_calls import TimedCalls
from evaluator.judge.timing import PairedTiming
from evaluator.limits import Limits
from evaluator.report import Timing
from evaluator.roofline.model import Work

AROUND_MS = 0.6
REFERENCE_MS = 0.128


class ScriptedGpu:
    """A device on which forwards take `candidate_ms`, of which their process claims the share `told`.

    By the judge's clock something of `around_ms` goes around a call of the candidate's.
    """

    def __init__(self, candidate_ms: float, told: float, around_ms: float = AROUND_MS) -> None:
        self.device = SimpleNamespace(name="cuda", spin_cycles=lambda duration_s: 1)
        self.row_calls = 16
        self.reference_alone_ms: float | None = None
        self.special = SimpleNamespace(timed=())
        self.work = Work(0.0, 0, 0, 0, "int64")
        self.timed_with_signs = False
        self._candidate_ms = candidate_ms
        self._told = told
        self._around_ms = around_ms

    def write_state(self, seed: int) -> Construction:
        return Construction(seed, None, {})

    def uncompared_call(self, runner: Any, side: str, *rest: Any, count: int) -> CheckedCall:
        claim_ms = REFERENCE_MS if count == 1 else 1.0
        return CheckedCall(claim_ms, claim_ms + AROUND_MS + 0.05 * count)

    def checked_row(self, runner: Any, side: str, seeds: Any, *rest: Any) -> CheckedCall:
        count = len(seeds)
        taken_ms = count * self._candidate_ms
        return CheckedCall(self._told * taken_ms, taken_ms + self._around_ms + 0.05 * count)


def timed(bench: ScriptedGpu) -> Timing:
    runners = [SimpleNamespace(construct=lambda *arguments: []) for _ in range(2)]
    gate = SimpleNamespace(freeze=lambda: None, thaw=lambda: None)
    limits = Limits()
    arguments: Any = (bench, *runners, gate, "00", limits.call_s, "reject")
    parts: Any = (bench, TimedCalls(*arguments), runners[0], gate)
    return PairedTiming(*parts, "00", limits).run()[0]


@pytest.mark.parametrize("candidate_ms", [0.005, 0.13, 0.4])
@pytest.mark.parametrize("around_ms", [AROUND_MS - 0.05, AROUND_MS, AROUND_MS + 0.07])
def test_noise_of_the_clock_costs_an_honest_kernel_nothing(candidate_ms: float, around_ms: float) -> None:
    assert timed(ScriptedGpu(candidate_ms, 1.0, around_ms)).t_new_ms == pytest.approx(candidate_ms, rel=0.03)


@pytest.mark.parametrize("told", [0.001, 0.1, 0.3, 0.4])
def test_a_short_call_is_not_half_as_short(told: float) -> None:
    with pytest.raises(SubmissionFault, match="by the judge's clock"):
        timed(ScriptedGpu(REFERENCE_MS, told))


@pytest.mark.parametrize("told", [0.55, 0.7, 0.9])
def test_what_a_smaller_lie_gains_is_bounded(told: float) -> None:
    assert timed(ScriptedGpu(REFERENCE_MS, told)).t_new_ms > 0.55 * REFERENCE_MS
