"""Stage 3: five trials on hidden seeds under two draws of the weights, then the task's special inputs."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from evaluator.config import EvaluatorConfig
from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.call import CallOptions, CallSeeds, CheckedCall, Construction, Variant
from evaluator.judge.clock import PhaseClock
from evaluator.judge.compare import Mismatch
from evaluator.judge.downgrade import PrecisionCheck
from evaluator.judge.homogeneity import TRIAL_EXPONENT, row_scales, scale_first
from evaluator.judge.precision import random_signs
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.special import variant
from evaluator.seeds import derive
from evaluator.tasks.special_inputs import Recipe, SignedScaled, Sparse
from evaluator.verdicts import Verdict

WEIGHT_DRAWS = 2
PLAIN = CallOptions()


@dataclass(frozen=True)
class Accuracy:
    """`error_ratio` is the relative L2 error in units of what TF32 may make; above 3 it is a downgrade."""

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
        ratio = self._require_precision()
        if self._bench.homogeneous:
            calls.append(self._scaled_trial())
        for recipe in self._bench.special.recipes:
            label = f"special:{recipe.name}"
            made = variant(recipe, derive(self._seed_key, f"recipe:{label}"))
            calls.append(self._trial(f"special input '{recipe.name}'", label, made, self._how(recipe)))
        return Accuracy(max(call.max_abs_err for call in calls), ratio)

    def _how(self, recipe: Recipe) -> CallOptions:
        """Where large products of both signs cancel, what TF32 loses of them is no share of what is left."""
        products = self._bench.work.multiplies_fp32
        return CallOptions(compare="signed") if products and isinstance(recipe, Sparse | SignedScaled) else PLAIN

    def _construct(self, draw: int) -> None:
        construction = self._bench.write_state(weight_seed(self._seed_key, draw))
        self._unmatched = construct(self._runner, construction, self._clock.limit(self._limits.first_call_s))

    def _trial(self, title: str, label: str, made: Variant | None, how: CallOptions = PLAIN) -> CheckedCall:
        limit_s = self._clock.limit(self._limits.first_call_s if self._first_call else self._limits.call_s)
        seeds = call_seeds(self._seed_key, label)
        try:
            call = self._bench.checked_call(self._runner, "candidate", seeds, limit_s, how, made)
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"{title}: {mismatch}{self._weights_hint()}") from None
        self._first_call = False
        return call

    def _scaled_trial(self) -> CheckedCall:
        """Rows scaled by powers of two up to 2^20 both ways, which fp16 inside cannot hold."""
        label = "scaled"
        seed = derive(self._seed_key, "recipe:scaled")
        probe = self._bench.reference.inputs(call_seeds(self._seed_key, label).inputs)
        scales = row_scales(probe, seed, TRIAL_EXPONENT)
        how = CallOptions(row_scales=scales)
        return self._trial("rows scaled by powers of two", label, lambda inputs: scale_first(inputs, scales), how)

    def _require_precision(self) -> float:
        """Measure one call against what TF32 may make of the same inputs, on random signs where the task takes them."""
        if self._bench.work.dtype != "float32":
            return 0.0
        check = PrecisionCheck(self._bench, self._config.precision_policy)
        made: Variant | None = None
        if self._bench.takes_signs:
            seed = derive(self._seed_key, "recipe:signs")
            made = partial(random_signs, seed=seed)
        call = self._trial("precision", "precision", made, CallOptions(compare="l2"))
        return check.require(call, call_seeds(self._seed_key, "precision"), made)

    def _weights_hint(self) -> str:
        if not self._unmatched:
            return ""
        names = ", ".join(self._unmatched[:8])
        return (
            f"\nweights_unmatched: ModelNew has no parameter or buffer of the same name and shape for {names}. "
            "Keep the reference's names, or create the parameters in the reference's order with its initialisers."
        )


def construct(runner: RunnerLink, construction: Construction, deadline_s: float) -> list[str]:
    """Build a runner's model; names of the reference's weights that found no partner."""
    return runner.construct(construction.init, construction.weights, construction.seed, deadline_s)


def weight_seed(seed_key: str, draw: int) -> int:
    """The hidden seed of one draw of the weights."""
    return derive(seed_key, f"weights:{draw}")


def call_seeds(seed_key: str, label: str) -> CallSeeds:
    """The seeds of one call; neither can be computed from the other."""
    return CallSeeds(derive(seed_key, f"inputs:{label}"), derive(seed_key, f"forward:{label}"))


def timed_variant(bench: Bench, seed_key: str, label: str) -> Variant | None:
    """What is done to the inputs of a timed call, where the task asks for anything."""
    steps: list[Variant] = [
        variant(recipe, derive(seed_key, f"recipe:{label}:{recipe.name}")) for recipe in bench.special.timed
    ]
    if bench.timed_with_signs:
        steps.append(partial(random_signs, seed=derive(seed_key, f"recipe:{label}")))
    return partial(_in_turn, steps) if steps else None


def _in_turn(steps: list[Variant], inputs: list[Any]) -> list[Any]:
    for step in steps:
        inputs = step(inputs)
    return inputs
