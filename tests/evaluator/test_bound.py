"""The judge's clock as a lower bound, on calls and rows whose times are scripted."""

from collections.abc import Callable

import pytest

from evaluator.errors import SubmissionFault
from evaluator.judge.bound import Bound, Rows
from evaluator.judge.call import CheckedCall

OVERHEAD_MS = 0.2


def calls(claim_ms: float, *wall_ms: float, queued: bool = True) -> list[CheckedCall]:
    return [CheckedCall(claim_ms, wall, queued=queued) for wall in wall_ms]


REFERENCE = calls(1.0, 1.2, 1.2, 1.5)


def test_the_quicker_calls_tell_what_one_takes() -> None:
    candidate = calls(0.5, 2.2, 2.2, 9.0, 9.0, 9.0, 9.0)
    assert Bound("cuda").of_calls(REFERENCE, candidate) == pytest.approx(2.2 - OVERHEAD_MS - 0.06)


def test_one_that_waits_for_results_is_timed_by_this_clock_alone() -> None:
    candidate = calls(0.5, 2.2, 2.2, queued=False)
    bound = Bound("cuda")
    assert bound.of_calls(REFERENCE, candidate) == pytest.approx(2.2 - OVERHEAD_MS)
    assert not bound.needs_rows(REFERENCE, calls(0.1, 0.3, queued=False))


def test_on_a_cpu_noise_pays_for_no_lie() -> None:
    noisy = [CheckedCall(1.0, 1.0 + overhead) for overhead in (5.0, 9.0, 30.0)]
    lie = calls(1e-6, 4.0, 5.0, 6.0)  # quicker than anything around the reference
    assert Bound("cpu").of_calls(noisy, lie) == pytest.approx(1.0)
    slow = [CheckedCall(1.0, 31.0)] * 3
    assert Bound("cpu").of_calls(slow, lie) == 1.0
    quiet = [CheckedCall(1.0, 1.0 + overhead) for overhead in (0.1, 0.1, 0.2)]
    assert Bound("cpu").of_calls(quiet, calls(0.5, 0.6, 0.6)) == pytest.approx(0.5, abs=0.01)


def test_short_calls_need_rows() -> None:
    bound = Bound("cuda")
    assert bound.needs_rows(REFERENCE, calls(0.001, 0.9, 0.9))
    assert not bound.needs_rows(REFERENCE, calls(0.001, 1.9, 1.9))


def test_a_claim_far_below_is_refused_and_one_within_the_noise_is_not() -> None:
    Bound("cuda").require(0.81, 1.0)
    with pytest.raises(SubmissionFault, match="by the judge's clock"):
        Bound("cuda").require(0.79, 1.0)


def rows_of(
    forward_ms: float,
    fitting: int = 64,
    noise: Callable[[int], float] = lambda n: 0.0,
    claim_ms: float = 0.001,
    lengths: list[int] | None = None,
) -> Rows:
    count = iter(range(1000))

    def run(length: int, label: str) -> CheckedCall:
        if lengths is not None:
            lengths.append(length)
        wall_ms = OVERHEAD_MS + length * forward_ms + noise(next(count))
        return CheckedCall(0.001, wall_ms, max_abs_err=0.5, queued=length <= fitting)

    return Rows(16, claim_ms, run)


@pytest.mark.parametrize(("claim_ms", "longest"), [(0.001, 32), (0.3, 14), (5.0, 2)])
def test_rows_are_as_long_as_the_claim_asks_for_and_no_longer(claim_ms: float, longest: int) -> None:
    lengths: list[int] = []
    rows_of(0.5, claim_ms=claim_ms, lengths=lengths).slope_ms()
    assert max(lengths) == longest


def test_rows_tell_what_one_more_forward_takes() -> None:
    rows = rows_of(0.1, noise=lambda n: 0.05 if n % 3 else 0.0)
    assert rows.slope_ms() == pytest.approx(0.06, rel=0.02)
    assert rows.max_abs_err == 0.5


def test_a_row_that_no_queue_holds_is_shortened() -> None:
    assert rows_of(0.1, fitting=9).slope_ms() == pytest.approx(0.6 * (0.1 - 0.02 / 4))
    assert rows_of(0.1, fitting=1).slope_ms() is None


def test_rows_that_take_no_longer_bound_nothing() -> None:
    assert rows_of(0.0).slope_ms() == 0.0
