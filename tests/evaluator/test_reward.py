"""The table of rewards, row by row and at its edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.reward import REWARD_MODES, RewardMode, reward
from evaluator.verdicts import Stage, Verdict

Speedups = st.floats(1e-9, 1e9)
Shares = st.floats(1e-9, 5)


@pytest.mark.parametrize(
    ("speedup", "paid"),
    [
        (1.0, 0.3),
        (2.0, 1.3),
        (math.sqrt(2), 0.8),
        (8.0, 3.3),
        (8.1, 3.3),
        (1e300, 3.3),
        (math.inf, 3.3),
        (2**-0.1, 0.2),
        (2**-0.2, 0.1),
        (0.5, 0.1),
        (1e-300, 0.1),
    ],
)
def test_speedup(speedup: float, paid: float) -> None:
    assert reward(Verdict.CORRECT, speedup=speedup, roofline_frac=0.9) == pytest.approx(paid)


def test_the_slowest_correct_kernel_gets_no_less_than_a_tenth() -> None:
    assert reward(Verdict.CORRECT, speedup=1e-9, roofline_frac=None) == 0.1


@pytest.mark.parametrize(("share", "paid"), [(1.0, 3.0), (0.5, 1.65), (0.0, 0.3), (1.25, 3.0), (1e-9, 0.3)])
def test_roofline(share: float, paid: float) -> None:
    assert reward(Verdict.CORRECT, speedup=0.01, roofline_frac=share, mode="roofline") == pytest.approx(paid)


@given(Speedups)
def test_roofline_falls_back_to_the_speedup_where_it_is_unknown(speedup: float) -> None:
    paid = [reward(Verdict.CORRECT, speedup=speedup, roofline_frac=None, mode=mode) for mode in REWARD_MODES]
    assert paid[0] == paid[1]


@given(Speedups, Speedups, Shares)
def test_faster_is_never_paid_less(a: float, b: float, share: float) -> None:
    slow, fast = (reward(Verdict.CORRECT, speedup=x, roofline_frac=share) for x in sorted((a, b)))
    assert 0.1 <= slow <= fast <= 3.3


@pytest.mark.parametrize("mode", REWARD_MODES)
@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.CORRECT])
def test_what_is_not_correct_gets_nothing_or_its_partial_credit(verdict: Verdict, mode: RewardMode) -> None:
    credit = {Stage.RUNTIME: 0.02, Stage.TIMEOUT: 0.02, Stage.CORRECTNESS: 0.05}.get(verdict.stage, 0.0)
    assert reward(verdict, speedup=9.0, roofline_frac=1.0, mode=mode) == 0.0
    assert reward(verdict, speedup=None, roofline_frac=None, mode=mode, partial_credit=True) == credit


def test_partial_credit_changes_nothing_for_a_correct_kernel() -> None:
    assert reward(Verdict.CORRECT, speedup=2.0, roofline_frac=None, partial_credit=True) == pytest.approx(1.3)


@pytest.mark.parametrize("speedup", [None, 0.0, -1.0, math.nan])
def test_a_correct_kernel_needs_a_speedup(speedup: float | None) -> None:
    with pytest.raises(ValueError, match="positive speedup"):
        reward(Verdict.CORRECT, speedup=speedup, roofline_frac=0.5)
