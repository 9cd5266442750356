"""One grade from the runner's start to the report: load, compile, correctness, timing, provenance."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.building import Built
from evaluator.judge.cache import BenchCache
from evaluator.judge.clock import PhaseClock
from evaluator.judge.device import JudgeDevice
from evaluator.judge.memory import Admission, MemoryBudget, Need, ShortOfMemory
from evaluator.judge.origin import Origin, OriginCheck, torch_ops_denied
from evaluator.judge.pen import Pen
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.telemetry import Telemetry
from evaluator.judge.timed_calls import TimedCalls
from evaluator.judge.timing import PairedTiming
from evaluator.judge.trials import Accuracy, Trials, call_seeds, construct, weight_seed
from evaluator.judge.trusted_gate import trusted_gate
from evaluator.judge.turn import DeviceTurn
from evaluator.judge.verdict import doubted, judgement
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
# Faults of ours, and words in a candidate's, that want of device memory may be behind.
SHORTAGE_FAULTS = ("device_memory", "runner_start", "reference_failed")
SHORTAGE_WORDS = ("out of memory: ", "CUDA error: out of memory", "ALLOC_FAILED")


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
    """The state of one grade; `isolation` is filled in once the candidate's walls stand.

    `alone` keeps all other grades off the device's memory for as long as it runs.
    """

    def __init__(
        self,
        workshop: Workshop,
        pen: Pen,
        submission: Submission,
        built: Built,
        clock: PhaseClock,
        isolation: dict[str, Any],
        interrupt_fd: int | None,
        *,
        alone: bool = False,
    ) -> None:
        self._shop = workshop
        self._alone = alone
        self._bench: Bench | None = None
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
        """Raises SubmissionFault, GraderFault and Cancelled, and ShortOfMemory for what is to be tried alone; nothing
        of the candidate is left in any case."""
        memory = self._shop.memory
        try:
            need = self._need()
            room = memory.admitted(need, self._clock, self._make_room, self._interrupt_fd, alone=self._alone)
            with room as admission:
                return self._admitted(admission)
        finally:
            self._let_bench_go(keep=False)

    def _admitted(self, admission: Admission) -> Report:
        try:
            return self._graded()
        except (SubmissionFault, GraderFault, torch.OutOfMemoryError) as error:
            if admission.shared and self._may_be_shortage(error):
                raise ShortOfMemory(str(error)) from error
            if isinstance(error, torch.OutOfMemoryError):
                raise self._without_room(error) from error
            raise

    def _graded(self) -> Report:
        bench = self._bench or self._take_bench()
        try:
            return self._grade(bench)
        except SubmissionFault as fault:
            raise self._explained(fault) from None
        finally:
            try:
                self._pen.empty()
            finally:
                self._let_bench_go(keep=True)

    def _may_be_shortage(self, error: Exception) -> bool:
        """Whether want of the device's memory may be behind it."""
        if isinstance(error, GraderFault):
            return error.code in SHORTAGE_FAULTS
        if isinstance(error, SubmissionFault):
            told = error.verdict is Verdict.RUNTIME_ERROR and any(word in error.feedback for word in SHORTAGE_WORDS)
            return told and self._shop.device.name == "cuda"
        return isinstance(error, torch.OutOfMemoryError)

    def _without_room(self, error: torch.OutOfMemoryError) -> Exception:
        """The judge's own memory ran out: beside nobody but the candidate, and with enough for both, it is to blame."""
        need = self._shop.memory.known.get(self._submission.task_id)
        if need is None or not self._shop.memory.holds(need):
            return GraderFault("device_memory", f"{self._submission.task_id}: {error}")
        text = "out of memory: the submission keeps so much of the device's that its outputs cannot be checked"
        return SubmissionFault(Verdict.RUNTIME_ERROR, text)

    def _need(self) -> Need:
        """What the grade needs; a task's first one has to find out."""
        known = Need(0, 0) if self._alone else self._shop.memory.known.get(self._submission.task_id)
        if known is not None:
            return known
        try:
            return self._take_bench().need
        except GraderFault as fault:
            if self._may_be_shortage(fault):
                raise ShortOfMemory(str(fault)) from fault
            raise

    def _take_bench(self) -> Bench:
        """A bench with its trusted runner."""
        with self._clock.phase("prepare"), self._hold("prepare"):
            self._bench = self._ready_bench()
        self._shop.memory.known[self._submission.task_id] = self._bench.need
        return self._bench

    def _let_bench_go(self, *, keep: bool) -> None:
        """Give the bench back for the next grade of its task, or all its memory."""
        bench, self._bench = self._bench, None
        if bench is None:
            return
        if bench.reference_runner is not None:
            bench.reference_runner.interrupt_fd = None
        with self._shop.turn.held(self._clock, "clean_up", None):
            if keep:
                self._shop.benches.give_back(bench)
            else:
                bench.close()

    def _make_room(self, idle_bytes_max: int) -> None:
        self._let_bench_go(keep=False)
        with self._hold("make_room"):
            self._shop.benches.shrink(max(idle_bytes_max, 0))

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
            beside_ms = timing.t_ref_ms
            timing, drifted = paired.without_drift(timing)
        doubts = [] if origin.doubt is None else [origin.doubt]
        if drifted:
            doubts.append(
                f"the reference took {beside_ms:.4g} ms beside the submission, {timing.t_ref_ms:.4g} ms alone"
            )
        report = judgement(bench.work, timing, self._shop.peaks, self._limits, self._shop.config.precision_policy)
        return replace(
            doubted(report, doubts),
            max_abs_err=max(accuracy.max_abs_err, timed_err),
            error_ratio=accuracy.error_ratio,
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
