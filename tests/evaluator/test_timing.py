"""The timing of pairs, on a bench whose times are scripted: order, warm-up, when to stop, and two clocks."""

import itertools
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.errors import SubmissionFault
from evaluator.judge.call import CheckedCall, Construction
from evaluator.judge.compare import Mismatch
from evaluator.judge.timed_calls import TimedCalls
from evaluator.judge.timing import WARM_UP_MAX_CALLS, PairedTiming
from evaluator.limits import Limits
from evaluator.report import Timing
from evaluator.roofline.model import Work
from evaluator.verdicts import Verdict

OVERHEAD_MS = 0.2
Times = Iterator[float]
LIMITS = Limits(cpu_timing_s=60.0)


class ScriptedBench:
    """Calls take what the script says; the candidate's claim may differ from what the judge sees."""

    def __init__(self, reference: Times, candidate: Times, claim: Callable[[float], float]) -> None:
        self.device = SimpleNamespace(name="cpu")
        self.row_calls = 0
        self.reference_alone_ms: float | None = None
        self.special = SimpleNamespace(timed=())
        self.work = Work(0.0, 0, 0, 0, "int64")
        self.timed_with_signs = False
        self.sides: list[str] = []
        self.seeds: list[tuple[str, Any]] = []
        self.wrong_at = -1
        self._times = {"reference": reference, "candidate": candidate}
        self._claim = claim

    def write_state(self, seed: int) -> Construction:
        return Construction(seed, None, {})

    def uncompared_call(self, runner: Any, side: str, seeds: Any, *rest: Any, count: int) -> CheckedCall:
        assert count == 1
        return self._called(side, seeds, lambda ms: ms)

    def checked_row(self, runner: Any, side: str, seeds: Any, *rest: Any) -> CheckedCall:
        if len(self.sides) == self.wrong_at:
            raise Mismatch("output: 1 of 1 elements")
        (only,) = seeds
        return self._called(side, only, self._claim)

    def _called(self, side: str, seeds: Any, claim: Callable[[float], float]) -> CheckedCall:
        self.sides.append(side)
        self.seeds.append((side, seeds))
        taken_ms = next(self._times[side])
        return CheckedCall(claim(taken_ms), taken_ms + OVERHEAD_MS, max_abs_err=0.25)


class Gate:
    def __init__(self) -> None:
        self.moves: list[str] = []

    def freeze(self) -> None:
        self.moves.append("freeze")

    def thaw(self) -> None:
        self.moves.append("thaw")


def timed(
    reference: Times, candidate: Times, claim: Callable[[float], float] = lambda ms: ms, limits: Limits = LIMITS
) -> tuple[Timing, ScriptedBench, Gate]:
    bench, gate = ScriptedBench(reference, candidate, claim), Gate()
    measured, error = timing(bench, gate, limits).run()
    assert error == 0.25
    return measured, bench, gate


def timing(bench: ScriptedBench, gate: Gate, limits: Limits = LIMITS) -> PairedTiming:
    runner = SimpleNamespace(construct=lambda *arguments: [])
    parts: Any = (bench, runner, gate)
    calls = TimedCalls(parts[0], runner, runner, gate, "00", limits.call_s, "reject")  # type: ignore[arg-type]
    return PairedTiming(parts[0], calls, *parts[1:], "00", limits)


def steady(value: float) -> Times:
    return itertools.repeat(value)


def noisy(value: float, spread: float, seed: int = 1) -> Times:
    rng = random.Random(seed)
    while True:
        yield value * rng.uniform(1 - spread, 1 + spread)


def test_steady_times_need_no_more_pairs_than_an_interval_does() -> None:
    measured, bench, gate = timed(steady(4.0), steady(2.0))
    assert (measured.t_ref_ms, measured.t_new_ms, measured.speedup, measured.pairs) == (4.0, 2.0, 2.0, 6)
    assert measured.speedup_ci95 == (2.0, 2.0)
    assert (measured.t_ref_p20_ms, measured.t_new_p80_ms) == (4.0, 2.0)
    both = ["reference", "candidate"]
    assert bench.sides == ["reference"] * 5 + ["candidate"] * 5 + 3 * [*both, *reversed(both)]
    assert gate.moves == ["freeze", "thaw"]


def test_no_two_calls_of_a_side_share_their_inputs_and_both_sides_of_a_pair_do() -> None:
    _, bench, _ = timed(noisy(4.0, 0.2), noisy(2.0, 0.2, seed=2))
    for side in ("reference", "candidate"):
        seeds = [seed for who, seed in bench.seeds if who == side]
        assert len(set(seeds)) == len(seeds)
    assert {seed for side, seed in bench.seeds[-2:]} == {bench.seeds[-1][1]}


def test_warm_up_ends_when_times_agree_or_after_twenty() -> None:
    settling = itertools.chain([90.0, 50.0, 30.0, 20.0, 15.0, 12.0, 11.8], steady(11.8))
    assert timed(steady(4.0), settling)[1].sides[5:].index("reference") == 7
    restless = (1.0 + number % 2 for number in itertools.count())
    assert timed(steady(4.0), restless)[1].sides[5:].index("reference") == WARM_UP_MAX_CALLS


def test_noise_takes_more_pairs_up_to_the_limit() -> None:
    few = timed(noisy(4.0, 0.005), noisy(2.0, 0.005, seed=2))[0]
    many = timed(noisy(4.0, 0.3), noisy(2.0, 0.3, seed=2))[0]
    assert 6 <= few.pairs < 30
    assert many.pairs == LIMITS.timing_pairs_max
    assert many.speedup == pytest.approx(2.0, rel=0.1)
    assert many.speedup_ci95[0] < 2.0 < many.speedup_ci95[1]


@pytest.mark.parametrize("candidate_ms", [0.1, 40.0])
def test_what_is_beyond_a_clamp_of_the_reward_is_known_well_enough(candidate_ms: float) -> None:
    assert timed(noisy(4.0, 0.3), noisy(candidate_ms, 0.3, seed=2))[0].pairs == 3


def test_time_runs_out() -> None:
    limits = Limits(cpu_timing_s=0.0, timing_pairs_min=4)
    assert timed(noisy(4.0, 0.3), noisy(2.0, 0.3, seed=2), limits=limits)[0].pairs == 4


def test_a_lie_within_the_noise_of_a_clock_does_not_pay() -> None:
    measured = timed(steady(4.0), steady(2.0), claim=lambda ms: ms / 10)[0]
    assert measured.t_new_ms == pytest.approx(2.0)
    assert measured.speedup == pytest.approx(2.0)


def test_a_slow_claim_is_believed() -> None:
    assert timed(steady(4.0), steady(2.0), claim=lambda ms: ms + OVERHEAD_MS)[0].t_new_ms == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (lambda ms: 1.0, r"the call took 100 ms by the judge's clock, while its process claims 1 ms"),
        (lambda ms: 0.0, "impossible"),
        (lambda ms: 5e-324, "impossible"),
        (lambda ms: ms + 2 * OVERHEAD_MS, "impossible"),
    ],
    ids=["tenth", "zero", "smallest", "longer"],
)
def test_impossible_claims_are_rejected(claim: Callable[[float], float], says: str) -> None:
    bench, gate = ScriptedBench(steady(120.0), steady(100.0), claim), Gate()
    with pytest.raises(SubmissionFault, match=says) as caught:
        timing(bench, gate).run()
    assert (caught.value.verdict, caught.value.rules) == (Verdict.REJECTED_TIMING, ("claimed-time",))
    assert gate.moves == ["freeze", "thaw"]


@pytest.mark.parametrize("wrong_at", [5, 9, 11, 12, 15])  # of warm-up and pairs, in the order of the first test
def test_every_timed_call_is_checked(wrong_at: int) -> None:
    bench, gate = ScriptedBench(steady(4.0), steady(2.0), lambda ms: ms), Gate()
    bench.wrong_at = wrong_at
    with pytest.raises(SubmissionFault, match="a timed call gave a wrong result: output") as caught:
        timing(bench, gate).run()
    assert caught.value.verdict is Verdict.INCORRECT
    assert gate.moves == ["freeze", "thaw"]
