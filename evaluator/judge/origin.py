"""Stage 6: whether the submission's own kernels did the work. Runs last, so that being traced tells nothing."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench, CallOptions
from evaluator.judge.compare import Mismatch
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.trials import call_seeds
from evaluator.limits import Limits
from evaluator.own_kernels import own_kernel_names
from evaluator.provenance import Provenance, attribute
from evaluator.static.source import Source
from evaluator.static.syntax import parse
from evaluator.submission import Submission
from evaluator.verdicts import Verdict

# Kernel times that add up to this much more or less than the timed call say that something is being hidden.
TRACE_AGREEMENT_FRAC = 0.1
_LEVEL_WITH_TORCH = 3

Hold = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Origin:
    """`custom_kernel_share` is None where there is no device to trace."""

    custom_kernel_share: float | None
    kernels: tuple[dict[str, Any], ...] = ()
    suspicious: bool = False


def torch_ops_denied(task_id: str) -> bool:
    """The TORCH_OPS policy: none on levels 1 and 2; from level 3 on torch may do the rest of a network."""
    return int(task_id.removeprefix("level").partition("/")[0]) < _LEVEL_WITH_TORCH


class OriginCheck:
    """Traces one call and runs another without the submission's kernels."""

    def __init__(self, bench: Bench, runner: RunnerLink, submission: Submission, limits: Limits) -> None:
        self._bench = bench
        self._runner = runner
        self._submission = submission
        self._limits = limits

    def run(self, t_new_ms: float, hold: Hold) -> Origin:
        """Raises SubmissionFault, `format_violation`, where others did the work.

        `hold` takes the device for the calls themselves; the tracer takes a second to start and does without it.
        """
        origin = self._traced(t_new_ms, hold) if self._bench.device.name == "cuda" else Origin(None)
        if self._submission.language == "triton":
            with hold():
                self._require_kernels_matter()
        return origin

    def _traced(self, t_new_ms: float, hold: Hold) -> Origin:
        seeds = call_seeds(self._submission.seed_key, "trace")
        limit_s = self._limits.first_call_s
        self._runner.begin_trace(limit_s)
        try:
            with hold():
                self._bench.checked_call(self._runner, "candidate", seeds, limit_s, CallOptions(precision="tf32"))
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"a traced call gave a wrong result: {mismatch}") from None
        names = own_kernel_names(Source(parse(self._submission.code)))
        provenance = attribute(self._runner.end_trace(limit_s), names)
        self._require_own_work(provenance)
        apart = abs(provenance.total_ms - t_new_ms)
        suspicious = apart > TRACE_AGREEMENT_FRAC * t_new_ms and apart > 0.05
        return Origin(round(provenance.own_share, 4), provenance.kernels, suspicious)

    def _require_own_work(self, provenance: Provenance) -> None:
        if not provenance.own_share:
            raise SubmissionFault(
                Verdict.FORMAT_VIOLATION, "none of the kernels that ran was defined in the submission"
            )
        if torch_ops_denied(self._submission.task_id):
            if provenance.foreign:
                listed = ", ".join(name[:120] for name in provenance.foreign[:4])
                feedback = f"kernels ran that the submission does not define: {listed}. Write them yourself."
                raise SubmissionFault(Verdict.FORMAT_VIOLATION, feedback)
        elif provenance.own_share < self._limits.custom_kernel_share_min:
            raise SubmissionFault(
                Verdict.FORMAT_VIOLATION,
                f"the submission's own kernels did {provenance.own_share:.1%} of the work; "
                f"at least {self._limits.custom_kernel_share_min:.0%} is asked for",
            )

    def _require_kernels_matter(self) -> None:
        """Without Triton's launches the result must be wrong: kernels whose output nobody uses are a decoy."""
        seeds = call_seeds(self._submission.seed_key, "no_kernels")
        options = CallOptions(mode="no_kernels")
        try:
            self._bench.checked_call(self._runner, "candidate", seeds, self._limits.first_call_s, options)
        except Mismatch:
            return
        except SubmissionFault as fault:
            if fault.verdict is Verdict.FORMAT_VIOLATION:
                raise
            return
        raise SubmissionFault(
            Verdict.FORMAT_VIOLATION, "the result is right without any of the submission's kernels: they do no work"
        )
