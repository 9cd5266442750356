"""The judge's clock as a lower bound, on calls and rows whose times are scripted."""

from collections.abc import Callable

import pytest

from evaluator.errors import SubmissionFault
from evaluator.judge.bound import ROW_SLACK_MS, Bound, Rows
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
    Bound("cuda").require(0.09, 0.11, ROW_SLACK_MS)
    with pytest.raises(SubmissionFault, match="by the judge's clock"):
        Bound("cuda").require(0.08, 0.11, ROW_SLACK_MS)


class ScriptedRows:
    """Rows of forwards that take `forward_ms`; a stream's queue holds `fitting` of them."""

    def __init__(
        self,
        forward_ms: float,
        *,
        fitting: int = 64,
        noise: Callable[[int], float] = lambda number: 0.0,
        claim_ms: float = 0.001,
        row_calls: int = 32,
    ) -> None:
        self.lengths: list[int] = []
        self._forward_ms = forward_ms
        self._fitting = fitting
        self._noise = noise
        self.rows = Rows(row_calls, claim_ms, self._run, self._once)

    def _run(self, length: int, label: str) -> CheckedCall:
        self.lengths.append(length)
        wall_ms = self._around_ms(length) + length * self._forward_ms + self._noise(len(self.lengths))
        return CheckedCall(0.001, wall_ms, max_abs_err=0.5, queued=length <= self._fitting)

    def _once(self, length: int, label: str) -> CheckedCall:
        return CheckedCall(1.3, 1.3 + self._around_ms(length))

    def _around_ms(self, length: int) -> float:
        """To answer for more forwards takes longer."""
        return OVERHEAD_MS + 0.03 * length


@pytest.mark.parametrize(("claim_ms", "longest"), [(0.001, 32), (0.3, 7), (1.5, 2)])
def test_rows_are_as_long_as_the_claim_asks_for_and_no_longer(claim_ms: float, longest: int) -> None:
    script = ScriptedRows(0.5, claim_ms=claim_ms)
    script.rows.bound_ms()
    assert max(script.lengths) == longest


def test_rows_tell_what_a_forward_takes_and_what_goes_around_them_is_taken_off() -> None:
    script = ScriptedRows(0.1, noise=lambda number: 0.05 if number % 3 else 0.0)
    assert script.rows.bound_ms() == pytest.approx(0.6 * (0.1 - 0.06 / 32))
    assert script.rows.max_abs_err == 0.5


def test_short_rows_that_are_held_up_hide_nothing() -> None:
    honest, liar = ScriptedRows(0.1), ScriptedRows(0.1, noise=lambda number: 2.0)
    assert (liar.rows.bound_ms() or 0.0) >= (honest.rows.bound_ms() or 1.0)


def test_a_row_that_no_queue_holds_is_shortened() -> None:
    assert ScriptedRows(0.1, fitting=9).rows.bound_ms() == pytest.approx(0.6 * (0.1 - 0.06 / 8))
    assert ScriptedRows(0.1, fitting=1).rows.bound_ms() is None
    assert ScriptedRows(0.1, row_calls=0).rows.bound_ms() is None


def test_rows_that_take_no_time_bound_nothing() -> None:
    assert ScriptedRows(0.0).rows.bound_ms() == 0.0
