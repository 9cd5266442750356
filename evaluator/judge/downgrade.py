"""Holds checked calls, timed ones too, to the precision that the policy asks for."""

from evaluator.config import PrecisionPolicy
from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.call import CallSeeds, CheckedCall, Variant
from evaluator.judge.precision import ERROR_FLOOR, ERROR_RATIO_MAX
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict


class PrecisionCheck:
    """For calls on inputs of one kind. The unit of error is measured only for a call that is not known to be fine."""

    def __init__(self, bench: Bench, policy: PrecisionPolicy) -> None:
        self._bench = bench
        self._policy = policy
        self._granted = ERROR_RATIO_MAX * ERROR_FLOOR

    def require(self, call: CheckedCall, seeds: CallSeeds, variant: Variant | None) -> float:
        """The call's error ratio, or a bound of it. Raises SubmissionFault for a downgrade that the policy rejects."""
        if self._bench.work.dtype != "float32":
            return 0.0
        if call.relative_l2 <= self._granted:
            return ERROR_RATIO_MAX * call.relative_l2 / self._granted
        ratio = self._bench.error_ratio(call, seeds, variant)
        if ratio > ERROR_RATIO_MAX and self._policy == "reject":
            raise SubmissionFault(
                Verdict.INCORRECT,
                f"precision_downgrade: the relative L2 error is {call.relative_l2:.3g}, {ratio:.3g} times the unit "
                f"that fp32 inputs with TF32 products are granted (limit {ERROR_RATIO_MAX:g}). Keep inputs, weights "
                "and accumulators in fp32; do not round them to bf16 or fp16.",
                RunTimeRule.PRECISION,
            )
        if 0 < ratio <= ERROR_RATIO_MAX:
            self._granted = ERROR_RATIO_MAX * call.relative_l2 / ratio
        return ratio
