"""Stage 4: interleaved pairs of reference and candidate calls, every one of them checked, until the ratio is known."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from evaluator.judge.bench import Bench
from evaluator.judge.bound import CALLS_TELL_FROM_MS, ROW_SLACK_MS, Bound, Rows
from evaluator.judge.call import CheckedCall, Gate
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.statistics import CI95_MIN_VALUES, median_ci95, quantile
from evaluator.judge.timed_calls import TimedCalls
from evaluator.judge.trials import WEIGHT_DRAWS, construct, weight_seed
from evaluator.limits import Limits
from evaluator.report import Timing
from evaluator.reward import LOG2_SPEEDUP_MAX, LOG2_SPEEDUP_MIN

WARM_UP_MIN_CALLS = 5
WARM_UP_MAX_CALLS = 20
WARM_UP_AGREEMENT_FRAC = 0.05
CI_HALF_WIDTH_FRAC = 0.005
# Beside a candidate the reference may take this much longer than alone.
DRIFT_FRAC = 0.05
DRIFT_MS = 0.002
ALONE_CALLS = 7
IEEE_CALLS = 3
# A bound above the claim by more than this is looked at again, this often, by so many calls of either side; one that is
# not tells nothing, since what goes around a call varies by more.
BOUND_NOISE_FRAC = 0.02
MORE_LOOKS = 2
CALLS_OF_A_LOOK = 8


@dataclass
class _Pairs:
    reference: list[CheckedCall]
    candidate: list[CheckedCall]

    def ratios(self) -> list[float]:
        return [r.claim_ms / c.claim_ms for r, c in zip(self.reference, self.candidate, strict=True)]

    @property
    def claim_ms(self) -> float:
        return statistics.median(call.claim_ms for call in self.candidate)

    def passed_by(self, bound_ms: float) -> bool:
        """Whether a bound lies so far above the claim that it says something."""
        return bound_ms > self.claim_ms * (1 + BOUND_NOISE_FRAC)

    def raised_to(self, bound_ms: float) -> "_Pairs":
        """The same with the candidate's claims raised to what the judge's clock shows, so that no lie pays."""
        factor = bound_ms / self.claim_ms if self.passed_by(bound_ms) else 1.0
        return _Pairs(self.reference, [replace(call, claim_ms=call.claim_ms * factor) for call in self.candidate])


class PairedTiming:
    """Times one candidate against the reference in a trusted runner of the same make."""

    def __init__(
        self,
        bench: Bench,
        calls: TimedCalls,
        reference: RunnerLink,
        gate: Gate,
        seed_key: str,
        limits: Limits,
    ) -> None:
        self._bench = bench
        self._calls = calls
        self._reference = reference
        self._gate = gate
        self._seed_key = seed_key
        self._limits = limits
        self._bound = Bound(bench.device.name)

    def run(self) -> tuple[Timing, float]:
        """The timing and the largest absolute error seen. Raises SubmissionFault, also for a false claim.

        The candidate stands still but for its own calls, so that it can neither prepare for one nor disturb another.
        """
        self._gate.freeze()
        try:
            return self._run()
        finally:
            self._gate.thaw()

    def _run(self) -> tuple[Timing, float]:
        self._construct_reference()
        on_cpu = self._bench.device.name == "cpu"
        budget_s = self._limits.cpu_timing_s if on_cpu else self._limits.timing_s
        end = time.monotonic() + budget_s
        for side in ("reference", "candidate"):
            self._warm_up(side, end)
        pairs = self._measure(time.monotonic() + budget_s)
        errors = [call.max_abs_err for call in pairs.candidate]
        claim_ms = pairs.claim_ms
        for bound_ms, slack_ms in self._bounds_ms(pairs, errors):
            self._bound.require(claim_ms, bound_ms, slack_ms)
            pairs = pairs.raised_to(bound_ms)
        return replace(_summary(pairs), t_ref_ieee_ms=self._ieee_ms()), max(errors)

    def _bounds_ms(self, pairs: _Pairs, errors: list[float]) -> Iterator[tuple[float, float | None]]:
        """What the judge's clock says with what slack, from rows of short calls and from single ones."""
        row_ms = self._row_bound_ms(pairs, errors)
        if row_ms is not None:
            yield row_ms, ROW_SLACK_MS
        call_ms = self._bound.of_calls(pairs.reference, pairs.candidate)
        if row_ms is None or call_ms > CALLS_TELL_FROM_MS:
            yield self._looked_at_again(call_ms, pairs), None

    def _row_bound_ms(self, pairs: _Pairs, errors: list[float]) -> float | None:
        """None for calls that need no rows, and where rows do not fit."""
        if not self._bench.row_calls or not self._bound.needs_rows(pairs.reference, pairs.candidate):
            return None
        rows = Rows(self._bench.row_calls, pairs.claim_ms, self._calls.row, self._calls.once)
        row_ms = rows.bound_ms()
        for _ in range(MORE_LOOKS):
            if row_ms is None or not pairs.passed_by(row_ms):
                break
            row_ms = min(row_ms, rows.bound_ms() or row_ms)
        errors.append(rows.max_abs_err)
        return row_ms

    def _looked_at_again(self, bound_ms: float, pairs: _Pairs) -> float:
        """A bound that would count: what a neighbour does on the device can only make it longer, and a few calls of the
        reference may happen to have little around them."""
        for look in range(MORE_LOOKS):
            if not pairs.passed_by(bound_ms):
                break
            again = self._pairs(f"again:{look}", CALLS_OF_A_LOOK)
            bound_ms = min(bound_ms, self._bound.of_calls(again.reference, again.candidate))
        return bound_ms

    def _ieee_ms(self) -> float | None:
        """The reference's time with TF32 off, where that makes a difference."""
        if self._bench.device.name == "cpu" or not self._bench.work.multiplies_fp32:
            return None
        calls = [self._calls.reference(f"ieee:{number}", "ieee") for number in range(IEEE_CALLS)]
        return statistics.median(call.claim_ms for call in calls)

    def without_drift(self, timing: Timing) -> tuple[Timing, bool]:
        """The timing by what the reference takes with the candidate gone, and whether that made a difference.

        To be called once the candidate is dead: one that slows the reference down gains nothing.
        """
        if self._bench.device.name == "cpu":
            return timing, False
        limit_ms = timing.t_ref_ms / (1 + DRIFT_FRAC) - DRIFT_MS
        known_ms = self._bench.reference_alone_ms
        if known_ms is not None and known_ms >= limit_ms:
            self._bench.reference_alone_ms = min(known_ms, timing.t_ref_ms)
            return timing, False
        calls = [self._calls.reference(f"alone:{number}", "tf32") for number in range(ALONE_CALLS)]
        alone_ms = self._bench.reference_alone_ms = statistics.median(call.claim_ms for call in calls)
        if alone_ms >= limit_ms:
            return timing, False
        factor = alone_ms / timing.t_ref_ms
        low, high = timing.speedup_ci95
        scaled = replace(timing, speedup=timing.speedup * factor, speedup_ci95=(low * factor, high * factor))
        return replace(scaled, t_ref_ms=alone_ms), True

    def _construct_reference(self) -> None:
        construction = self._bench.write_state(weight_seed(self._seed_key, WEIGHT_DRAWS - 1))
        construct(self._reference, construction, self._limits.call_s)

    def _warm_up(self, side: str, end: float) -> None:
        previous = self._calls.of(side, "warmup:0").claim_ms
        for number in range(1, WARM_UP_MAX_CALLS):
            current = self._calls.of(side, f"warmup:{number}").claim_ms
            settled = abs(current - previous) <= WARM_UP_AGREEMENT_FRAC * min(current, previous)
            if (number + 1 >= WARM_UP_MIN_CALLS and settled) or time.monotonic() > end:
                return
            previous = current

    def _measure(self, end: float) -> _Pairs:
        pairs = _Pairs([], [])
        for number in range(self._limits.timing_pairs_max):
            self._add_pair(pairs, "pair", number)
            if number + 1 >= self._limits.timing_pairs_min and (_settled(pairs) or time.monotonic() > end):
                break
        return pairs

    def _pairs(self, label: str, count: int) -> _Pairs:
        pairs = _Pairs([], [])
        for number in range(count):
            self._add_pair(pairs, label, number)
        return pairs

    def _add_pair(self, pairs: _Pairs, label: str, number: int) -> None:
        order = ("reference", "candidate") if number % 2 == 0 else ("candidate", "reference")
        calls = {side: self._calls.of(side, f"{label}:{number}") for side in order}
        pairs.reference.append(calls["reference"])
        pairs.candidate.append(calls["candidate"])


def _settled(pairs: _Pairs) -> bool:
    """Enough pairs: the ratio is known to half a percent, or lies wholly beyond a clamp of the reward."""
    ratios = pairs.ratios()
    low, high = median_ci95(ratios)
    middle = statistics.median(ratios)
    if len(ratios) >= CI95_MIN_VALUES and high - low <= 2 * CI_HALF_WIDTH_FRAC * middle:
        return True
    return low > 2**LOG2_SPEEDUP_MAX or high < 2**LOG2_SPEEDUP_MIN


def _summary(pairs: _Pairs) -> Timing:
    ratios = pairs.ratios()
    reference = [call.claim_ms for call in pairs.reference]
    candidate = [call.claim_ms for call in pairs.candidate]
    return Timing(
        t_ref_ms=statistics.median(reference),
        t_new_ms=statistics.median(candidate),
        speedup=statistics.median(ratios),
        speedup_ci95=median_ci95(ratios),
        pairs=len(ratios),
        t_ref_p20_ms=quantile(reference, 0.2),
        t_ref_p80_ms=quantile(reference, 0.8),
        t_new_p20_ms=quantile(candidate, 0.2),
        t_new_p80_ms=quantile(candidate, 0.8),
    )
