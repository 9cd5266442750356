"""Stage 4: interleaved pairs of reference and candidate calls, every one of them checked, until the ratio is known."""

import statistics
import time
from dataclasses import dataclass, replace

from evaluator.config import PrecisionPolicy
from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench, CallOptions, CallSeeds, CheckedCall, Gate, Variant
from evaluator.judge.clock import PhaseClock
from evaluator.judge.compare import Mismatch
from evaluator.judge.downgrade import PrecisionCheck
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.statistics import median_ci95, quantile
from evaluator.judge.trials import WEIGHT_DRAWS, call_seeds, construct, timed_variant, weight_seed
from evaluator.limits import Limits
from evaluator.report import Timing
from evaluator.reward import LOG2_SPEEDUP_MAX, LOG2_SPEEDUP_MIN
from evaluator.verdicts import Verdict

WARM_UP_MIN_CALLS = 5
WARM_UP_MAX_CALLS = 20
WARM_UP_AGREEMENT_FRAC = 0.05
CI_HALF_WIDTH_FRAC = 0.005
SPIN_S = 0.0005
# A claim may lie under the judge's own clock by this much before it is called a lie: wall time is noisier, and on a
# CPU, whose cores are shared with everything else that runs there, noisier still.
CLAIM_SLACK_FRAC = {"cuda": 0.1, "cpu": 0.5}
CLAIM_SLACK_MS = {"cuda": 0.3, "cpu": 20.0}
# Less than any clock can tell, and enough to divide by.
CLAIM_MIN_MS = 1e-6
# What the judge's clock may show beyond the claim without counting: on a GPU, the way to the process and back.
UNCOUNTED_MS = {"cuda": 0.3, "cpu": 0.0}


@dataclass
class _Pairs:
    reference: list[CheckedCall]
    candidate: list[CheckedCall]

    def ratios(self) -> list[float]:
        return [r.claim_ms / c.claim_ms for r, c in zip(self.reference, self.candidate, strict=True)]


class PairedTiming:
    """Times one candidate against the reference in a trusted runner of the same make."""

    def __init__(
        self,
        bench: Bench,
        reference: RunnerLink,
        candidate: RunnerLink,
        gate: Gate,
        seed_key: str,
        limits: Limits,
        clock: PhaseClock,
        precision_policy: PrecisionPolicy,
    ) -> None:
        self._bench = bench
        self._precision = PrecisionCheck(bench, precision_policy)
        self._runners = {"reference": reference, "candidate": candidate}
        self._gate = gate
        self._seed_key = seed_key
        self._limits = limits
        self._clock = clock
        self._calls = 0
        self._spin_cycles = bench.device.spin_cycles(SPIN_S)

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
        self._require_honest_clock(pairs)
        return _summary(self._by_both_clocks(pairs)), max(call.max_abs_err for call in pairs.candidate)

    def _construct_reference(self) -> None:
        construction = self._bench.write_state(weight_seed(self._seed_key, WEIGHT_DRAWS - 1))
        construct(self._runners["reference"], construction, self._limits.call_s)

    def _warm_up(self, side: str, end: float) -> None:
        previous = self._call(side, "warmup:0").claim_ms
        for number in range(1, WARM_UP_MAX_CALLS):
            current = self._call(side, f"warmup:{number}").claim_ms
            settled = abs(current - previous) <= WARM_UP_AGREEMENT_FRAC * min(current, previous)
            if (number + 1 >= WARM_UP_MIN_CALLS and settled) or time.monotonic() > end:
                return
            previous = current

    def _measure(self, end: float) -> _Pairs:
        pairs = _Pairs([], [])
        for number in range(self._limits.timing_pairs_max):
            order = ("reference", "candidate") if number % 2 == 0 else ("candidate", "reference")
            calls = {side: self._call(side, f"pair:{number}") for side in order}
            pairs.reference.append(calls["reference"])
            pairs.candidate.append(calls["candidate"])
            if number + 1 >= self._limits.timing_pairs_min and (_settled(pairs) or time.monotonic() > end):
                break
        return pairs

    def _call(self, side: str, label: str) -> CheckedCall:
        seeds = call_seeds(self._seed_key, f"timing:{label}")
        limit_s = self._limits.call_s
        variant = timed_variant(self._bench, self._seed_key, label)
        compare = "signed" if self._bench.timed_with_signs else "values"
        how = CallOptions(precision="tf32", spin_cycles=self._spin_cycles, flush=True, compare=compare)
        if side == "reference":
            return self._positive(self._bench.uncompared_call(self._runners[side], side, seeds, limit_s, how, variant))
        try:
            return self._positive(self._checked(seeds, limit_s, how, variant))
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"a timed call gave a wrong result: {mismatch}") from None

    def _checked(self, seeds: CallSeeds, limit_s: float, how: CallOptions, variant: Variant | None) -> CheckedCall:
        runner = self._runners["candidate"]
        call = self._bench.checked_call(runner, "candidate", seeds, limit_s, how, variant, self._gate)
        self._precision.require(call, seeds, variant)
        return call

    def _positive(self, call: CheckedCall) -> CheckedCall:
        if not CLAIM_MIN_MS <= call.claim_ms <= call.wall_ms:
            raise SubmissionFault(Verdict.REJECTED_TIMING, "the time that the candidate's process claims is impossible")
        return call

    def _require_honest_clock(self, pairs: _Pairs) -> None:
        """Hold the claim against the judge's wall time less what the same call costs around the trusted reference."""
        overhead_ms = max(call.wall_ms - call.claim_ms for call in pairs.reference)
        bound_ms = statistics.median(call.wall_ms for call in pairs.candidate) - overhead_ms
        claim_ms = statistics.median(call.claim_ms for call in pairs.candidate)
        device = self._bench.device.name
        if claim_ms < (1 - CLAIM_SLACK_FRAC[device]) * bound_ms - CLAIM_SLACK_MS[device]:
            raise SubmissionFault(
                Verdict.REJECTED_TIMING,
                f"the call took {bound_ms:.4g} ms by the judge's clock, while its process claims {claim_ms:.4g} ms",
            )

    def _by_both_clocks(self, pairs: _Pairs) -> _Pairs:
        """The pairs with the candidate's claims raised to what the judge's clock shows, so that no lie pays."""
        overhead_ms = statistics.median(call.wall_ms - call.claim_ms for call in pairs.reference)
        bound_ms = statistics.median(call.wall_ms for call in pairs.candidate) - overhead_ms
        claim_ms = statistics.median(call.claim_ms for call in pairs.candidate)
        factor = max((bound_ms - UNCOUNTED_MS[self._bench.device.name]) / claim_ms, 1.0)
        candidate = [replace(call, claim_ms=call.claim_ms * factor) for call in pairs.candidate]
        return _Pairs(pairs.reference, candidate)


def _settled(pairs: _Pairs) -> bool:
    """Enough pairs: the ratio is known to half a percent, or lies wholly beyond a clamp of the reward."""
    ratios = pairs.ratios()
    low, high = median_ci95(ratios)
    middle = statistics.median(ratios)
    if high - low <= 2 * CI_HALF_WIDTH_FRAC * middle:
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
