"""Stage 3: five trials on hidden seeds under two draws of the weights, then the task's special inputs."""

from dataclasses import dataclass

from evaluator.config import EvaluatorConfig
from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench, CallOptions, CallSeeds, CheckedCall, Variant
from evaluator.judge.clock import PhaseClock
from evaluator.judge.compare import Mismatch
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.special import variant
from evaluator.seeds import derive
from evaluator.verdicts import Verdict

WEIGHT_DRAWS = 2
# A relative L2 error up to this is never called a downgrade: TF32 alone makes about 3e-4 of a matrix product.
ERROR_FLOOR = 1e-4
ERROR_RATIO_MAX = 3.0


@dataclass(frozen=True)
class Accuracy:
    """`error_ratio` is the relative L2 error over the larger of 1e-4 and what eager PyTorch with TF32 makes."""

    max_abs_err: float
    error_ratio: float


class Trials:
    """Runs the trials of one submission; the last draw of the weights is in force afterwards."""

    def __init__(
        self, bench: Bench, runner: RunnerLink, seed_key: str, config: EvaluatorConfig, clock: PhaseClock
    ) -> None:
        self._bench = bench
        self._runner = runner
        self._seed_key = seed_key
        self._config = config
        self._limits = config.limits
        self._clock = clock
        self._first_call = True
        self._unmatched: list[str] = []

    def run(self) -> Accuracy:
        """How accurate the candidate was over all trials. Raises SubmissionFault at the first that fails."""
        count = self._limits.correctness_trials
        calls = []
        for trial in range(count):
            if trial in (0, (count + 1) // WEIGHT_DRAWS):
                self._construct(draw=min(trial, 1))
            calls.append(self._trial(f"trial {trial + 1} of {count}", f"trial:{trial}", None))
        ratio = self._require_precision(f"trial:{count - 1}", calls[-1])
        for recipe in self._bench.special.recipes:
            label = f"special:{recipe.name}"
            made = variant(recipe, derive(self._seed_key, f"recipe:{label}"))
            calls.append(self._trial(f"special input '{recipe.name}'", label, made))
        return Accuracy(max(call.max_abs_err for call in calls), ratio)

    def _construct(self, draw: int) -> None:
        seed = derive(self._seed_key, f"weights:{draw}")
        limit_s = self._clock.limit(self._limits.first_call_s)
        self._unmatched = self._bench.construct(self._runner, seed, limit_s)

    def _trial(self, title: str, label: str, made: Variant | None) -> CheckedCall:
        limit_s = self._clock.limit(self._limits.first_call_s if self._first_call else self._limits.call_s)
        seeds = call_seeds(self._seed_key, label)
        try:
            call = self._bench.checked_call(self._runner, "candidate", seeds, limit_s, CallOptions(), made)
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"{title}: {mismatch}{self._weights_hint()}") from None
        self._first_call = False
        return call

    def _require_precision(self, label: str, call: CheckedCall) -> float:
        """Hold one trial's error against TF32's. The truth is the reference in IEEE fp32, whose own error (about
        1e-6) is far under the floor, and which is at hand without a second, float64 pass over up to 17 GB."""
        if self._bench.work.dtype != "float32":
            return 0.0
        ratio = call.relative_l2 / ERROR_FLOOR
        if ratio > ERROR_RATIO_MAX:
            ratio = call.relative_l2 / max(ERROR_FLOOR, self._bench.tf32_error(call_seeds(self._seed_key, label)))
        if ratio > ERROR_RATIO_MAX and self._config.precision_policy == "reject":
            raise SubmissionFault(
                Verdict.INCORRECT,
                f"precision_downgrade: the relative L2 error is {call.relative_l2:.3g}, {ratio:.3g} times what fp32 "
                f"inputs with TF32 products give (limit {ERROR_RATIO_MAX:g}). Keep inputs, weights and accumulators in "
                "fp32; do not round them to bf16 or fp16.",
            )
        return ratio

    def _weights_hint(self) -> str:
        if not self._unmatched:
            return ""
        names = ", ".join(self._unmatched[:8])
        return (
            f"\nweights_unmatched: ModelNew has no parameter or buffer of the same name and shape for {names}. "
            "Keep the reference's names, or create the parameters in the reference's order with its initialisers."
        )


def call_seeds(seed_key: str, label: str) -> CallSeeds:
    """The seeds of one call; neither can be computed from the other."""
    return CallSeeds(derive(seed_key, f"inputs:{label}"), derive(seed_key, f"forward:{label}"))


def timed_variant(bench: Bench, seed_key: str, label: str) -> Variant | None:
    """What is done to the inputs of a timed call, where the task asks for anything."""
    if not bench.special.timed:
        return None
    return variant(bench.special.timed[0], derive(seed_key, f"recipe:{label}"))
