"""The judge's own clock: the least that a call can have taken, whatever its process claims."""

import math
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
# Up to here that is a good part of the whole, and rows of forwards tell more.
ROWS_BELOW_MS = 1.0
ROW_REPEATS = 3
ROW_NOISE_MS = 0.02
# In a row the results of one forward drain into memory while the next one reads: forwards that move much took up to
# 1.6 times as long as alone (an H200).
ROW_FACTOR = 0.6
# Rows that differ by this much tell one forward to a percent or two; longer ones only take longer to check.
ROW_APART_MS = 2.0


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

    def require(self, claim_ms: float, bound_ms: float) -> None:
        """Raises SubmissionFault, `rejected_timing`, for a claim below what the clock allows."""
        if claim_ms < (1 - SLACK_FRAC[self._device]) * bound_ms - SLACK_MS[self._device]:
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
    """What one more forward costs, from rows of k and of 2k forwards on inputs of their own: the rest cancels out.

    k is as large as it has to be for forwards of `claim_ms`, and at most `calls_max`. `run(calls, label)` runs and
    checks one row.
    """

    def __init__(self, calls_max: int, claim_ms: float, run: Callable[[int, str], CheckedCall]) -> None:
        self._calls = min(calls_max, math.ceil(ROW_APART_MS / claim_ms))
        self._run = run
        self._rows_run = 0
        self.max_abs_err = 0.0

    def slope_ms(self) -> float | None:
        """The bound on one forward, with noise and what rows make longer taken off.

        None where rows do not fit into a stream's queue.
        """
        calls = self._calls
        while calls:
            walls = {count: self._walls_ms(count) for count in (2 * calls, calls)}
            long, short = walls[2 * calls], walls[calls]
            if long is not None and short is not None:
                return max(ROW_FACTOR * (long - short - ROW_NOISE_MS) / calls, 0.0)
            calls //= 2
        return None

    def _walls_ms(self, count: int) -> float | None:
        """The quickest of a few rows."""
        walls = []
        for _ in range(ROW_REPEATS):
            self._rows_run += 1
            row = self._run(count, f"row:{self._rows_run}")
            self.max_abs_err = max(self.max_abs_err, row.max_abs_err)
            if not row.queued:
                return None
            walls.append(row.wall_ms)
        return min(walls)


def queues(calls: Sequence[CheckedCall]) -> bool:
    """Whether most of these calls were queued as a whole before the signal."""
    return 2 * sum(call.queued for call in calls) > len(calls)
