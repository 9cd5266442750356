"""One grade from the runner's start to the report: load, compile, correctness, timing, provenance."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.building import Built
from evaluator.judge.cache import BenchCache
from evaluator.judge.clock import PhaseClock
from evaluator.judge.device import JudgeDevice
from evaluator.judge.memory import MemoryBudget
from evaluator.judge.origin import Origin, OriginCheck, torch_ops_denied
from evaluator.judge.pen import Pen
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.telemetry import Telemetry
from evaluator.judge.timed_calls import TimedCalls
from evaluator.judge.timing import PairedTiming
from evaluator.judge.trials import Accuracy, Trials, call_seeds, construct, weight_seed
from evaluator.judge.trusted_gate import trusted_gate
from evaluator.judge.turn import DeviceTurn
from evaluator.judge.verdict import judgement
from evaluator.judge.zygote_link import Zygote
from evaluator.report import Report, Timing
from evaluator.roofline.peaks import Peaks
from evaluator.sandbox import Isolation
from evaluator.submission import Submission
from evaluator.verdicts import Verdict

RUNNER_START_S = 60.0
# A constructor that packs weights on the device ends well within this; what takes longer compiles, or waits.
LENT_S = 2.0
CANDIDATE_ENTRY = "ModelNew"
REFERENCE_ENTRY = "Model"


@dataclass(frozen=True)
class Workshop:
    """What all grades of one judge share."""

    config: EvaluatorConfig
    zygote: Zygote
    device: JudgeDevice
    turn: DeviceTurn
    benches: BenchCache
    memory: MemoryBudget
    peaks: Peaks | None
    allocator: str | None
    telemetry: Telemetry


class Grading:
    """The state of one grade; `isolation` is filled in once the candidate's walls stand."""

    def __init__(
        self,
        workshop: Workshop,
        pen: Pen,
        submission: Submission,
        built: Built,
        clock: PhaseClock,
        isolation: dict[str, Any],
        interrupt_fd: int | None,
    ) -> None:
        self._shop = workshop
        self._pen = pen
        self._submission = submission
        self._built = built
        self._clock = clock
        self._isolation = isolation
        self._interrupt_fd = interrupt_fd
        self._limits = workshop.config.limits
        self._readings: dict[str, Any] = {}
        self._audit = workshop.config.audit
        self._entry = REFERENCE_ENTRY if self._audit else CANDIDATE_ENTRY

    def run(self) -> Report:
        """Raises SubmissionFault, GraderFault and Cancelled; nothing of the candidate is left in any case."""
        with self._clock.phase("prepare"):
            bench = self._take_bench()
        try:
            with self._shop.memory.admitted(bench.need, self._clock, self._make_room, self._interrupt_fd):
                return self._grade(bench)
        except SubmissionFault as fault:
            raise self._explained(fault) from None
        finally:
            try:
                self._pen.empty()
            finally:
                if bench.reference_runner is not None:
                    bench.reference_runner.interrupt_fd = None
                with self._shop.turn.held(self._clock, "clean_up", None):
                    self._shop.benches.give_back(bench)

    def _take_bench(self) -> Bench:
        """A bench with its trusted runner; where memory is short, as soon as another grade has ended."""
        while True:
            try:
                with self._hold("prepare"):
                    return self._ready_bench()
            except GraderFault as fault:
                if fault.code != "device_memory" or not self._shop.memory.wait_for_an_end(
                    self._clock, self._interrupt_fd
                ):
                    raise

    def _make_room(self) -> None:
        with self._hold("make_room"):
            self._shop.benches.clear()

    def _ready_bench(self) -> Bench:
        bench = self._shop.benches.take(self._submission.task_id)
        try:
            self._ready_reference(bench)
        except BaseException:
            bench.close()
            raise
        return bench

    def _explained(self, fault: SubmissionFault) -> SubmissionFault:
        """A process that the kernel killed for its memory looks like one that was killed for no reason."""
        if fault.verdict is not Verdict.RUNTIME_ERROR or not self._pen.out_of_memory():
            return fault
        limit_gib = self._limits.runner_memory_bytes / 1024**3
        return SubmissionFault(fault.verdict, f"out of memory ({limit_gib:g} GiB on the host): {fault.feedback}")

    def _grade(self, bench: Bench) -> Report:
        with self._clock.phase("start"):
            candidate = self._start_candidate(bench)
        try:
            with self._clock.phase("load"):
                candidate.load(self._submission.code, self._entry, self._clock.limit(self._limits.first_call_s))
            with self._clock.phase("compile"):
                self._compile(bench, candidate)
            with self._clock.phase("correctness"), self._hold("correctness"):
                accuracy = self._correctness(bench, candidate)
            with self._clock.phase("timing"), self._hold("timing"):
                paired = self._paired_timing(bench, candidate)
                timing, timed_err = paired.run()
            with self._clock.phase("provenance"):
                origin = self._origin(bench, candidate, timing)
        finally:
            candidate.kill()
        with self._clock.phase("timing"), self._hold("timing"):
            timing, drifted = paired.without_drift(timing)
        report = judgement(bench.work, timing, self._shop.peaks, self._limits, self._shop.config.precision_policy)
        return replace(
            report,
            max_abs_err=max(accuracy.max_abs_err, timed_err),
            error_ratio=accuracy.error_ratio,
            suspicious=report.suspicious or origin.suspicious or drifted,
            custom_kernel_share=origin.custom_kernel_share,
            kernels=list(origin.kernels),
            environment={
                "device_need_bytes": bench.need.lasting_bytes + bench.need.passing_bytes,
                "device_around_timing": self._readings,
            },
        )

    @contextmanager
    def _hold(self, purpose: str) -> Iterator[None]:
        with self._shop.turn.held(self._clock, purpose, self._interrupt_fd):
            if purpose == "timing":
                self._readings.setdefault("before", self._shop.telemetry.read())
            try:
                yield
            finally:
                if purpose == "timing":
                    self._readings["after"] = self._shop.telemetry.read()
                self._shop.device.trim()

    def _ready_reference(self, bench: Bench) -> None:
        """The trusted runner of the bench: it starts before any candidate can write to the segments."""
        bench.arena("candidate")
        if bench.reference_runner is not None and bench.reference_runner.dead:
            bench.reference_runner.kill()
            bench.reference_runner = None
        if bench.reference_runner is None:
            scratch = tempfile.TemporaryDirectory(prefix="reference-", dir=self._shop.config.state_dir)
            bench.arena("reference").renew()
            runner = self._spawn(bench, "reference", scratch.name)
            gate = bench.reference_gate = trusted_gate(runner.pid)

            def buried() -> None:
                gate.close()
                scratch.cleanup()

            runner.on_death = buried
            bench.reference_runner = runner
            runner.ready(RUNNER_START_S)
            runner.load(bench.reference.source, REFERENCE_ENTRY, RUNNER_START_S)
        bench.reference_runner.interrupt_fd = self._interrupt_fd

    def _start_candidate(self, bench: Bench) -> RunnerLink:
        bench.arena("candidate").renew()
        candidate = self._spawn(bench, "candidate", None)
        self._pen.confine(candidate)
        self._isolation.update(candidate.ready(RUNNER_START_S))
        try:
            missing = Isolation.from_json(self._isolation).missing(self._shop.config.require_isolation)
        except ValueError as error:
            raise GraderFault("isolation_missing", f"REQUIRE_ISOLATION: {error}", retryable=False) from error
        if missing:
            reasons = (f"{name}: {self._isolation.get(name, {}).get('detail', 'not attempted')}" for name in missing)
            detail = f"REQUIRE_ISOLATION asks for more: {'; '.join(reasons)}"
            raise GraderFault("isolation_missing", detail, retryable=False)
        return candidate

    def _spawn(self, bench: Bench, side: str, scratch: str | None) -> RunnerLink:
        """Fork a runner with the bench's segments mapped: the candidate's confined, the reference's not."""
        arena, arena_fds = bench.arena(side).export()
        exchange, exchange_fds = bench.exchange.segment.export()
        confined = scratch is None
        setup = {
            "policy": self._pen.policy(self._shop.allocator, self._built.bring()).to_json() if confined else None,
            "extensions": self._built.names() if confined else {},
            "device": self._shop.device.name,
            "threads": 1,
            "guard": confined and not self._audit and torch_ops_denied(bench.reference.task_id),
            "scratch": scratch,
            "module": side,
            "segments": {"exchange": exchange, "arena": arena},
            "allocator": self._shop.allocator,
        }
        fds = [*exchange_fds, *arena_fds]
        return self._shop.zygote.spawn(setup, fds, trusted=not confined, interrupt_fd=self._interrupt_fd)

    def _compile(self, bench: Bench, candidate: RunnerLink) -> None:
        """Let Triton compile while another grade holds the device."""
        if self._shop.device.name != "cuda" or self._submission.language != "triton" or self._audit:
            return
        key = self._submission.seed_key
        with self._hold("compile"):
            construction = bench.write_state(weight_seed(key, 0))
            inputs = bench.compile_inputs(call_seeds(key, "compile"))
        limit_s = self._clock.limit(self._limits.first_call_s)
        with self._shop.turn.lent(self._clock, "construct", self._interrupt_fd, LENT_S):
            construct(candidate, construction, limit_s)
        candidate.compile_only(inputs, call_seeds(key, "compile").forward, self._clock.limit(self._limits.first_call_s))

    def _correctness(self, bench: Bench, candidate: RunnerLink) -> Accuracy:
        return Trials(bench, candidate, self._submission.seed_key, self._shop.config, self._clock).run()

    def _paired_timing(self, bench: Bench, candidate: RunnerLink) -> PairedTiming:
        if bench.reference_runner is None:
            raise GraderFault("reference_lost", "the reference's runner is gone")
        key, reference = self._submission.seed_key, bench.reference_runner
        policy = self._shop.config.precision_policy
        calls = TimedCalls(bench, reference, candidate, self._pen, key, self._limits.call_s, policy)
        return PairedTiming(bench, calls, reference, self._pen, key, self._limits)

    def _origin(self, bench: Bench, candidate: RunnerLink, timing: Timing) -> Origin:
        if self._audit:
            return Origin(None)
        check = OriginCheck(bench, candidate, self._submission, self._limits)
        return check.run(timing.t_new_ms, lambda: self._hold("provenance"))
