"""Stage 6: whether the submission's own kernels did the work. Runs last, so that being traced tells nothing."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from evaluator.errors import SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.call import CallOptions
from evaluator.judge.compare import Mismatch
from evaluator.judge.runner_link import RunnerLink, Trace
from evaluator.judge.trials import call_seeds
from evaluator.limits import Limits
from evaluator.own_kernels import own_kernel_names
from evaluator.provenance import Provenance, attribute
from evaluator.run_time_rules import RunTimeRule
from evaluator.static.source import Source
from evaluator.static.syntax import parse
from evaluator.submission import Submission
from evaluator.verdicts import Verdict

# Kernel times that add up to this much more or less than the timed call say that something is being hidden.
TRACE_AGREEMENT_FRAC = 0.1
# A submission that turns to slower kernels once it is traced is not the one that was timed.
TRACED_MAX_RATIO = 1.25
TRACED_SLACK_MS = 0.05
TRACES_MAX = 3
# Longer than a forward takes to queue its kernels under a tracer.
TRACE_SPIN_S = 0.01
_LEVEL_WITH_TORCH = 3

Hold = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Origin:
    """`custom_kernel_share` is None where there is no device to trace."""

    custom_kernel_share: float | None
    kernels: tuple[dict[str, Any], ...] = ()
    doubt: str | None = None


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
        names = own_kernel_names(Source(parse(self._submission.code)))
        for attempt in range(TRACES_MAX):
            trace = self._trace(f"trace:{attempt}", hold)
            provenance = attribute(trace.kernels, names)
            self._require_own_work(provenance)
            self._require_inside(trace)
            if provenance.total_ms <= TRACED_MAX_RATIO * t_new_ms + TRACED_SLACK_MS:
                break
        else:
            raise SubmissionFault(
                Verdict.REJECTED_TIMING,
                f"the kernels of a traced call took {provenance.total_ms:.4g} ms, timed calls {t_new_ms:.4g} ms: "
                "what is timed has to be what is traced",
                RunTimeRule.SLOWER_WHEN_TRACED,
            )
        apart = abs(provenance.total_ms - t_new_ms)
        doubt = None
        if apart > TRACE_AGREEMENT_FRAC * t_new_ms and apart > 0.05:
            doubt = f"the kernels of a traced call took {provenance.total_ms:.4g} ms, timed calls {t_new_ms:.4g} ms"
        return Origin(round(provenance.own_share, 4), provenance.kernels, doubt)

    def _trace(self, label: str, hold: Hold) -> Trace:
        seeds = call_seeds(self._submission.seed_key, label)
        limit_s = self._limits.first_call_s
        how = CallOptions(precision="tf32", spin_cycles=self._bench.device.spin_cycles(TRACE_SPIN_S))
        self._runner.begin_trace(limit_s)
        try:
            with hold():
                self._bench.checked_call(self._runner, "candidate", seeds, limit_s, how)
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"a traced call gave a wrong result: {mismatch}") from None
        return self._runner.end_trace(limit_s)

    def _require_inside(self, trace: Trace) -> None:
        """Streams beside the current one are fine if each waits for the other; else they hide work from the clock."""
        if trace.beside:
            listed = ", ".join(name[:120] for name in trace.beside[:4])
            raise SubmissionFault(
                Verdict.REJECTED_TIMING,
                f"kernels ran outside of the time between the call's events: {listed}. Launch them on the current "
                "stream, or let your stream wait for it first and it for your stream last",
                RunTimeRule.KERNELS_BESIDE,
            )

    def _require_own_work(self, provenance: Provenance) -> None:
        if not provenance.own_share:
            feedback = "none of the kernels that ran was defined in the submission"
            raise SubmissionFault(Verdict.FORMAT_VIOLATION, feedback, RunTimeRule.NO_OWN_KERNEL)
        if torch_ops_denied(self._submission.task_id):
            if provenance.foreign:
                listed = ", ".join(name[:120] for name in provenance.foreign[:4])
                feedback = f"kernels ran that the submission does not define: {listed}. Write them yourself."
                raise SubmissionFault(Verdict.FORMAT_VIOLATION, feedback, RunTimeRule.FOREIGN_KERNEL)
        elif provenance.own_share < self._limits.custom_kernel_share_min:
            raise SubmissionFault(
                Verdict.FORMAT_VIOLATION,
                f"the submission's own kernels did {provenance.own_share:.1%} of the work; "
                f"at least {self._limits.custom_kernel_share_min:.0%} is asked for",
                RunTimeRule.KERNEL_SHARE,
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
        feedback = "the result is right without any of the submission's kernels: they do no work"
        raise SubmissionFault(Verdict.FORMAT_VIOLATION, feedback, RunTimeRule.DECOY)
