"""The judge's own clock: the least that a call can have taken, whatever its process claims."""

import math
import statistics
from collections.abc import Callable, Sequence

from evaluator.errors import SubmissionFault
from evaluator.judge.call import CheckedCall
from evaluator.judge.statistics import quantile
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict

# What is not the call's own in the judge's time can only lengthen it, so the quicker calls tell most.
QUICK_QUANTILE = 0.2
# One process answers as quickly as another one: the reference's quicker calls are compared.
OVERHEAD_QUANTILE = 0.2
# On shared cores what is not the call's own varies by more than short calls take: by so much of it no call is shorter.
NOISE_QUANTILE = 0.8
# A claim may lie under the bound by this much before it is called a lie: wall time is noisier than events, and on a
# CPU, whose cores are shared with everything else that runs there, noisier still.
SLACK_FRAC = {"cuda": 0.1, "cpu": 0.5}
SLACK_MS = {"cuda": 0.1, "cpu": 20.0}
# How far the quicker calls of two processes may lie apart for no reason (an H200: of 0.3 ms, 0.001 to 0.05).
UNCOUNTED_MS = 0.06
# Where there are rows, a bound from single calls counts from here on: below, it is mostly noise, and makes 5 us 6.
CALLS_TELL_FROM_MS = 0.3
# Up to here that is a good part of the whole, and rows of forwards tell more.
ROWS_BELOW_MS = 1.0
ROW_REPEATS = 3
# A row of so much tells one forward to a few percent; longer ones only take longer to check.
ROW_MS = 2.0
# In a row every forward meets memory that it has not met lately, and what the one before left in the cache to be
# written: that took up to 1.56 times as long as alone (an H200; of 12 kernels of 0.03 to 0.8 ms, products 1.0 times).
ROW_FACTOR = 0.6
# A claim this much under the bound of rows may be the clock's fault.
ROW_SLACK_MS = 0.01

RowOf = Callable[[int, str], CheckedCall]


class Bound:
    """Holds claims against the clock of the judge on one kind of device."""

    def __init__(self, device: str) -> None:
        self._device = device

    def of_calls(self, reference: Sequence[CheckedCall], candidate: Sequence[CheckedCall]) -> float:
        """From the signal to the digest of the output, less what the same takes around the trusted reference; in ms.

        Nobody gets to be faster than the reference by less than the clock of a CPU can tell.
        """
        bound_ms = self._wall_ms(reference, candidate)
        if self._device == "cpu":
            reference_ms = quantile([call.claim_ms for call in reference], 0.5)
            return max(bound_ms, min(_noise_ms(reference), reference_ms)) if bound_ms > 0 else reference_ms
        # a forward that waits for results itself is timed by this clock alone
        return bound_ms - (UNCOUNTED_MS if queues(candidate) else 0.0)

    def needs_rows(self, reference: Sequence[CheckedCall], candidate: Sequence[CheckedCall]) -> bool:
        """Whether single calls are too short for the judge's clock."""
        return queues(candidate) and self._wall_ms(reference, candidate) < ROWS_BELOW_MS

    def require(self, claim_ms: float, bound_ms: float, slack_ms: float | None = None) -> None:
        """Raises SubmissionFault, `rejected_timing`, for a claim below what the clock allows."""
        if slack_ms is None:
            slack_ms = SLACK_MS[self._device]
        if claim_ms < (1 - SLACK_FRAC[self._device]) * bound_ms - slack_ms:
            raise SubmissionFault(
                Verdict.REJECTED_TIMING,
                f"the call took {bound_ms:.4g} ms by the judge's clock, while its process claims {claim_ms:.4g} ms",
                RunTimeRule.CLAIMED_TIME,
            )

    def _wall_ms(self, reference: Sequence[CheckedCall], candidate: Sequence[CheckedCall]) -> float:
        overhead_ms = quantile(_overheads_ms(reference), OVERHEAD_QUANTILE)
        return quantile([call.wall_ms for call in candidate], QUICK_QUANTILE) - overhead_ms


def _overheads_ms(reference: Sequence[CheckedCall]) -> list[float]:
    return [call.wall_ms - call.claim_ms for call in reference]


def _noise_ms(reference: Sequence[CheckedCall]) -> float:
    overheads = _overheads_ms(reference)
    return quantile(overheads, NOISE_QUANTILE) - quantile(overheads, OVERHEAD_QUANTILE)


class Rows:
    """What one forward takes at the least, from rows of forwards on inputs of their own, all queued before the signal.

    `run(calls, label)` runs and checks a row. `run_once(calls, label)` has the trusted reference answer as many after
    one forward and a pause on the device: what that takes beyond its own time is what goes around a row. Rows are as
    long as they have to be for forwards of `claim_ms`, and have at most `calls_max`.
    """

    def __init__(self, calls_max: int, claim_ms: float, run: RowOf, run_once: RowOf) -> None:
        self._calls = min(calls_max, math.ceil(ROW_MS / claim_ms))
        self._run = run
        self._run_once = run_once
        self._rows_run = 0
        self.max_abs_err = 0.0

    def bound_ms(self) -> float | None:
        """None where no row fits into a stream's queue."""
        calls = self._calls
        while calls > 1:
            total_ms = self._total_ms(calls)
            if total_ms is not None:
                return max(ROW_FACTOR * total_ms / calls, 0.0)
            calls //= 2
        return None

    def _total_ms(self, calls: int) -> float | None:
        """The quickest of a few rows, less what goes around one."""
        walls_ms, overheads_ms = [], []
        for _ in range(ROW_REPEATS):
            self._rows_run += 1
            label = f"row:{self._rows_run}"
            row = self._run(calls, label)
            self.max_abs_err = max(self.max_abs_err, row.max_abs_err)
            if not row.queued:
                return None
            walls_ms.append(row.wall_ms)
            once = self._run_once(calls, label)
            overheads_ms.append(once.wall_ms - once.claim_ms)
        return min(walls_ms) - statistics.median(overheads_ms) - UNCOUNTED_MS


def queues(calls: Sequence[CheckedCall]) -> bool:
    """Whether most of these calls were queued as a whole before the signal."""
    return 2 * sum(call.queued for call in calls) > len(calls)
