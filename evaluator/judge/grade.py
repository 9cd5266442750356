"""One device's judge: everything that outlives a grade, and the lanes in which grades run beside each other."""

import contextlib
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.feedback import trim_middle
from evaluator.gate import require_format
from evaluator.judge.arena import arena_library
from evaluator.judge.bench import Bench
from evaluator.judge.building import Built, ExtensionBuilder
from evaluator.judge.cache import IDLE_SHARE, BenchCache
from evaluator.judge.canary import Canary
from evaluator.judge.clock import PhaseClock
from evaluator.judge.dependence import Dependence
from evaluator.judge.device import JudgeDevice, make_device
from evaluator.judge.gpu_peaks import peaks_of
from evaluator.judge.grading import Grading, Workshop
from evaluator.judge.health import Health
from evaluator.judge.memory import MemoryBudget, ShortOfMemory
from evaluator.judge.pen import Pen
from evaluator.judge.reference import Reference
from evaluator.judge.telemetry import Telemetry
from evaluator.judge.turn import DeviceBusy, DeviceTurn
from evaluator.judge.zygote_link import Zygote
from evaluator.report import Report
from evaluator.sandbox import protect_from_same_user
from evaluator.seeds import derive
from evaluator.submission import Submission
from evaluator.tasks import Catalogue, TaskError, source_for
from evaluator.verdicts import Verdict
from evaluator.version import VERSION

# a grade may hold the device for minutes, and then the canary waits for another time
CANARY_PATIENCE_S = 60.0
# what a sick device looks like from inside a runner: only on a healthy one it is the candidate's doing
MAY_BE_THE_DEVICE = (Verdict.RUNTIME_ERROR, Verdict.TIMEOUT)


class Judge:
    """Grades up to `config.lanes` submissions at once, of which one holds the device at any time."""

    def __init__(self, config: EvaluatorConfig) -> None:
        self._config = config
        self._catalogue = Catalogue(Path(config.tasks_dir), config.added_tasks_dir)
        protect_from_same_user()
        zygote = Zygote(config.kind)
        zygote.start()
        self._pens = [Pen(config, lane) for lane in range(config.lanes)]
        self._free_pens = threading.Semaphore(config.lanes)
        self._pens_lock = threading.Lock()
        self._device: JudgeDevice = make_device(config.kind)
        allocator = arena_library(Path(config.state_dir)) if self._device.name == "cuda" else None
        self._benches = BenchCache(self._make_bench, int(IDLE_SHARE * self._device.free_bytes()))
        self._builder = ExtensionBuilder(config, self._device)
        gpu_id = self._device.describe()["gpu_id"]
        self._health = Health(self._device.name, Path(config.state_dir, f"health-{gpu_id}.json") if gpu_id else None)
        telemetry = Telemetry(gpu_id)
        self._canary = Canary(self._device, telemetry, Path(config.state_dir, f"canary-{gpu_id or 'cpu'}.json"))
        self._dependence = Dependence()
        peaks = peaks_of(self._device, config)
        turn = DeviceTurn()
        memory = MemoryBudget(self._device.free_bytes(), self._benches.idle_bytes)
        shared = (config, zygote, self._device, turn, self._benches, memory, peaks, allocator, telemetry)
        self._workshop = Workshop(*shared)

    def describe(self) -> dict[str, Any]:
        """Device and versions, as in a result's `environment`."""
        peaks = self._workshop.peaks
        known = {"name": peaks.name, "source": peaks.source, "measured": peaks.measured} if peaks else None
        return {"evaluator": self._config.kind, "grader": VERSION, "peaks": known, **self._device.describe()}

    def probe(self) -> dict[str, Any]:
        """What a look at the device measured, while no grade holds it. Raises GraderFault where it is not well."""
        with self._workshop.turn.held(PhaseClock(lambda _: None, 0.0), "probe", None):
            return self._health.probe().to_json()

    def canary(self) -> dict[str, Any] | None:
        """What the canary found, between two grades; None where these left no time or no memory for it."""
        try:
            return self._sing(PhaseClock(lambda _: None, 0.0), None, CANARY_PATIENCE_S)
        except DeviceBusy:
            return None

    def _sing(self, clock: PhaseClock, interrupt_fd: int | None, patience_s: float | None) -> dict[str, Any]:
        with self._workshop.turn.held(clock, "canary", interrupt_fd, patience_s):
            try:
                return self._canary.sing()
            finally:
                self._device.trim()

    def close(self) -> None:
        """End the zygote and with it every runner."""
        self._benches.shrink(0)
        self._workshop.zygote.stop()
        for pen in self._pens:
            pen.close()

    def grade(self, submission: Submission, on_phase: Callable[[str], None], interrupt_fd: int | None = None) -> Report:
        """The verdict. Raises GraderFault where there is none, and Cancelled once `interrupt_fd` is readable."""
        clock = PhaseClock(on_phase, self._config.limits.run_s)
        warnings: list[str] = []
        isolation: dict[str, Any] = {}
        try:
            with clock.phase("format"):
                warnings = [] if self._config.audit else self._check_format(submission)
            built = self._builder.build(submission, clock)
            if self._canary.latest is None:  # every result says how noisy its device is
                with contextlib.suppress(DeviceBusy):
                    self._sing(clock, interrupt_fd, None)
            clock.restart_run()
            report = self._run(submission, built, clock, isolation, interrupt_fd)
        except SubmissionFault as fault:
            if fault.verdict in MAY_BE_THE_DEVICE and self._device.name == "cuda":
                self.probe()
            report = Report(fault.verdict, fault.feedback, rules=list(fault.rules))
        environment = {
            **self.describe(),
            **report.environment,
            "isolation": isolation,
            "device_held_s": clock.device_held,
            "device_held_frac": clock.device_held_frac,
            "canary": self._canary.in_result(),
        }
        return replace(
            report,
            feedback=trim_middle(report.feedback, self._config.limits.feedback_bytes),
            audit=self._config.audit,
            warnings=[*warnings, *report.warnings],
            environment=environment,
            phases=clock.phases,
        )

    def _check_format(self, submission: Submission) -> list[str]:
        return require_format(submission.code, submission.language, self._config.limits)

    def _run(
        self,
        submission: Submission,
        built: Built,
        clock: PhaseClock,
        isolation: dict[str, Any],
        interrupt_fd: int | None,
    ) -> Report:
        with self._free_pens:
            with self._pens_lock:
                pen = self._pens.pop()
            made = partial(Grading, self._workshop, pen, submission, built, clock, isolation, interrupt_fd)
            try:
                try:
                    return made().run()
                except ShortOfMemory as short:
                    print(f"{submission.task_id} is graded once more, alone, after: {short}", file=sys.stderr)
                clock.restart_run()  # out here nothing refers to the memory that the first one had
                return made(alone=True).run()
            finally:
                with self._pens_lock:
                    self._pens.append(pen)

    def _make_bench(self, task_id: str) -> Bench:
        try:
            task = self._catalogue.get(task_id)
            source = source_for(task, "cuda" if self._device.name == "cuda" else "cpu")
        except TaskError as error:
            raise GraderFault("unknown_task", str(error), retryable=False) from error
        reference = Reference(task_id, source, self._device.name)
        bench = Bench(reference, self._device, self._config.limits.tolerance, derive("00", "probe"), task.special)
        if self._workshop.peaks is not None:
            bench.work = self._dependence.complete(bench.work, reference, bench.tolerance)
        return bench
