"""Stage 3: five trials on hidden seeds under two draws of the weights, then the task's special inputs."""

from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench, CallOptions, CallSeeds, Variant
from evaluator.judge.clock import PhaseClock
from evaluator.judge.compare import Mismatch
from evaluator.judge.runner_link import RunnerLink
from evaluator.limits import Limits
from evaluator.seeds import derive
from evaluator.verdicts import Verdict

WEIGHT_DRAWS = 2


class Trials:
    """Runs the trials of one submission; `weight_seed` is the draw that is in force afterwards."""

    def __init__(self, bench: Bench, runner: RunnerLink, seed_key: str, limits: Limits, clock: PhaseClock) -> None:
        self._bench = bench
        self._runner = runner
        self._seed_key = seed_key
        self._limits = limits
        self._clock = clock
        self._first_call = True
        self._unmatched: list[str] = []

    def run(self, variants: dict[str, Variant]) -> float:
        """The largest absolute error over all trials. Raises SubmissionFault at the first that fails."""
        count = self._limits.correctness_trials
        worst = 0.0
        for trial in range(count):
            if trial in (0, (count + 1) // WEIGHT_DRAWS):
                self.construct(draw=min(trial, 1))
            worst = max(worst, self._trial(f"trial {trial + 1} of {count}", f"trial:{trial}", None))
        for name, variant in variants.items():
            worst = max(worst, self._trial(f"special input '{name}'", f"special:{name}", variant))
        return worst

    def construct(self, draw: int) -> None:
        """Build both models under the hidden weight seed of this draw."""
        seed = derive(self._seed_key, f"weights:{draw}")
        limit_s = self._clock.limit(self._limits.first_call_s)
        self._unmatched = self._bench.construct(self._runner, seed, limit_s)

    def _trial(self, title: str, label: str, variant: Variant | None) -> float:
        limit_s = self._clock.limit(self._limits.first_call_s if self._first_call else self._limits.call_s)
        seeds = call_seeds(self._seed_key, label)
        try:
            call = self._bench.checked_call(self._runner, "candidate", seeds, limit_s, CallOptions(), variant)
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"{title}: {mismatch}{self._weights_hint()}") from None
        self._first_call = False
        return call.max_abs_err

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
