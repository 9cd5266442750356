"""Grades one submission: format, build, correctness, timing, in that order, and puts the report together."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.feedback import trim_middle
from evaluator.judge.arena import arena_library
from evaluator.judge.bench import Bench
from evaluator.judge.clock import PhaseClock
from evaluator.judge.device import JudgeDevice, make_device
from evaluator.judge.origin import Origin, OriginCheck, torch_ops_denied
from evaluator.judge.pen import Pen
from evaluator.judge.reference import Reference
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.timing import PairedTiming
from evaluator.judge.trials import Accuracy, Trials
from evaluator.judge.zygote_link import Zygote
from evaluator.report import Report, Roofline, Timing
from evaluator.roofline.model import Work, compute_floor_ms, memory_floor_ms, roofline
from evaluator.roofline.peaks import Peaks, find_peaks
from evaluator.sandbox import Isolation, protect_from_same_user
from evaluator.seeds import derive
from evaluator.static import check, render
from evaluator.submission import Submission
from evaluator.tasks import Catalogue, TaskError, source_for
from evaluator.verdicts import Verdict

RUNNER_START_S = 60.0
ENTRY = {"candidate": "ModelNew", "reference": "Model"}


class Judge:
    """One device with its zygote; grades one submission at a time."""

    def __init__(self, config: EvaluatorConfig) -> None:
        self._config = config
        self._catalogue = Catalogue(Path(config.tasks_dir))
        protect_from_same_user()
        self._zygote = Zygote(config.kind)
        self._zygote.start()
        self._pen = Pen(config)
        self._device: JudgeDevice = make_device(config.kind)
        self._peaks: Peaks | None = find_peaks(self._device.gpu_name)

    def describe(self) -> dict[str, Any]:
        """Device and versions, as in a result's `environment`."""
        return {"evaluator": self._config.kind, **self._device.describe()}

    def close(self) -> None:
        """End the zygote and with it every runner."""
        self._zygote.stop()
        self._pen.close()

    def grade(self, submission: Submission, on_phase: Callable[[str], None], interrupt_fd: int | None = None) -> Report:
        """The verdict. Raises GraderFault where there is none, and Cancelled once `interrupt_fd` is readable."""
        clock = PhaseClock(on_phase, self._config.limits.run_s)
        grading = _Grading(self, submission, clock, interrupt_fd)
        try:
            report = grading.run()
        except SubmissionFault as fault:
            report = Report(fault.verdict, fault.feedback)
        environment = {**self.describe(), "isolation": grading.isolation}
        return replace(
            report,
            feedback=trim_middle(report.feedback, self._config.limits.feedback_bytes),
            warnings=grading.warnings,
            environment=environment,
            phases=clock.phases,
        )

    def bench(self, task_id: str) -> Bench:
        """The task's reference and segments on this device. Raises GraderFault for a task that cannot be served."""
        try:
            task = self._catalogue.get(task_id)
            source = source_for(task, "cuda" if self._device.name == "cuda" else "cpu")
        except TaskError as error:
            raise GraderFault("unknown_task", str(error), retryable=False) from error
        reference = Reference(task_id, source, self._device.name)
        return Bench(reference, self._device, self._config.limits.tolerance, derive("00", "probe"))

    def runner(self, bench: Bench, side: str, scratch: str, interrupt_fd: int | None) -> RunnerLink:
        """Fork a runner with the bench's segments mapped: the candidate's confined, the reference's not."""
        arena, arena_fds = bench.arena(side).export()
        exchange, exchange_fds = bench.exchange.export()
        on_gpu = self._device.name == "cuda"
        allocator = arena_library(Path(self._config.state_dir)) if on_gpu else None
        confined = side == "candidate"
        setup = {
            "policy": self._pen.policy(allocator).to_json() if confined else None,
            "device": self._device.name,
            "threads": 1,
            "guard": confined and torch_ops_denied(bench.reference.task_id),
            "scratch": scratch,
            "module": side,
            "segments": {"exchange": exchange, "arena": arena},
            "allocator": allocator,
        }
        fds = [*exchange_fds, *arena_fds]
        runner = self._zygote.spawn(setup, fds, trusted=not confined, interrupt_fd=interrupt_fd)
        if confined:
            self._pen.confine(runner)
        return runner

    def require_isolation(self, isolation: dict[str, Any]) -> None:
        """Refuse to grade behind fewer walls than the operator asks for. Raises GraderFault."""
        missing = Isolation.from_json(isolation).missing(self._config.require_isolation)
        if missing:
            details = "; ".join(f"{name}: {isolation.get(name, {}).get('detail', 'not attempted')}" for name in missing)
            raise GraderFault("isolation_missing", f"REQUIRE_ISOLATION asks for more: {details}", retryable=False)

    @property
    def config(self) -> EvaluatorConfig:
        return self._config

    @property
    def pen(self) -> Pen:
        return self._pen

    @property
    def peaks(self) -> Peaks | None:
        return self._peaks


class _Grading:
    """The state of one grade."""

    def __init__(self, judge: Judge, submission: Submission, clock: PhaseClock, interrupt_fd: int | None) -> None:
        self._judge = judge
        self._limits = judge.config.limits
        self._submission = submission
        self._clock = clock
        self._interrupt_fd = interrupt_fd
        self._runners: dict[str, RunnerLink] = {}
        self._bench: Bench | None = None
        # For the trusted runner alone; the candidate's scratch is behind its walls.
        self._scratch = tempfile.TemporaryDirectory(prefix="reference-", dir=judge.config.state_dir)
        self.isolation: dict[str, Any] = {}
        self.warnings: list[str] = []

    def run(self) -> Report:
        try:
            self._check_format()
            self._clock.restart_run()
            bench = self._prepare()
            accuracy = self._correctness(bench)
            with self._clock.phase("timing"):
                timing, timed_err = self._timing(bench)
            with self._clock.phase("provenance"):
                origin = self._origin(bench, timing)
            report = self._judgement(bench.work, timing)
            return replace(
                report,
                max_abs_err=max(accuracy.max_abs_err, timed_err),
                error_ratio=accuracy.error_ratio,
                suspicious=report.suspicious or origin.suspicious,
                custom_kernel_share=origin.custom_kernel_share,
                kernels=list(origin.kernels),
            )
        finally:
            self._clean_up()

    def _check_format(self) -> None:
        with self._clock.phase("format"):
            findings = check(self._submission.code, self._submission.language)
            if any(finding.severity == "error" for finding in findings):
                raise SubmissionFault(Verdict.FORMAT_VIOLATION, render(findings))
            self.warnings = [f"line {f.line}: {f.message}" for f in findings]

    def _prepare(self) -> Bench:
        with self._clock.phase("prepare"):
            self._bench = self._judge.bench(self._submission.task_id)
            for side in ("candidate", "reference"):
                self._runners[side] = self._judge.runner(self._bench, side, self._scratch.name, self._interrupt_fd)
            self.isolation = self._runners["candidate"].ready(RUNNER_START_S)
            self._judge.require_isolation(self.isolation)
        return self._bench

    def _correctness(self, bench: Bench) -> Accuracy:
        runner = self._runners["candidate"]
        with self._clock.phase("load"):
            runner.load(self._submission.code, ENTRY["candidate"], self._clock.limit(self._limits.first_call_s))
        with self._clock.phase("correctness"):
            trials = Trials(bench, runner, self._submission.seed_key, self._judge.config, self._clock)
            return trials.run()

    def _timing(self, bench: Bench) -> tuple[Timing, float]:
        reference, candidate = self._runners["reference"], self._runners["candidate"]
        reference.ready(RUNNER_START_S)
        reference.load(bench.reference.source, ENTRY["reference"], RUNNER_START_S)
        bench.construct(reference, derive(self._submission.seed_key, "weights:1"), RUNNER_START_S)
        timing = PairedTiming(bench, reference, candidate, self._submission.seed_key, self._limits, self._clock)
        return timing.run()

    def _origin(self, bench: Bench, timing: Timing) -> Origin:
        check = OriginCheck(bench, self._runners["candidate"], self._submission, self._limits)
        return check.run(timing.t_new_ms)

    def _judgement(self, work: Work, timing: Timing) -> Report:
        """A correct kernel's report, unless its time is under what the device can do at all."""
        peaks = self._judge.peaks
        line: Roofline | None = roofline(work, peaks) if peaks else None
        suspicious = timing.speedup > self._limits.suspicious_speedup
        if peaks and line:
            share = self._limits.roofline_reject_frac
            if timing.t_new_ms < share * memory_floor_ms(work, peaks):
                feedback = (
                    f"{timing.t_new_ms:.4g} ms is less than the {memory_floor_ms(work, peaks):.4g} ms that reading "
                    f"the inputs takes at this GPU's full bandwidth: the work cannot have been done"
                )
                return Report(Verdict.REJECTED_TIMING, feedback, timing, line, roofline_violation=True, suspicious=True)
            suspicious |= timing.t_new_ms < share * compute_floor_ms(work, peaks)
        return Report(
            Verdict.CORRECT,
            _praise(timing, line),
            timing,
            line,
            suspicious=suspicious,
        )

    def _clean_up(self) -> None:
        for runner in self._runners.values():
            runner.kill()
        self._judge.pen.empty()
        self._scratch.cleanup()
        if self._bench is not None:
            self._bench.close()


def _praise(timing: Timing, line: Roofline | None) -> str:
    low, high = timing.speedup_ci95
    text = (
        f"correct; {timing.t_new_ms:.4g} ms against {timing.t_ref_ms:.4g} ms for the reference: "
        f"speedup {timing.speedup:.3f} (95 % interval {low:.3f} to {high:.3f}, {timing.pairs} pairs)"
    )
    if line is None:
        return f"{text}; this device has no known roofline"
    share = line.t_min_ms / timing.t_new_ms
    return f"{text}; {share:.0%} of the {line.bound} roofline ({line.t_min_ms:.4g} ms)"
