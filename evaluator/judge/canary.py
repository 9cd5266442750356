"""The canary: known kernels timed against themselves, whose record shows a device's drift, throttling and noise."""

import contextlib
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evaluator.errors import GraderFault
from evaluator.judge.device import JudgeDevice
from evaluator.judge.statistics import median_ci95
from evaluator.judge.telemetry import Telemetry
from evaluator.judge.turn import DeviceBusy
from evaluator.runner.flags import set_precision

# As many as a grade of a steady kernel takes, so that the interval is that of a grade.
PAIRS = 15
# Clocks rise from idle within this time.
WARM_UP_S = 0.05
SPIN_S = 0.0005
COPY_BYTES = {"cuda": 256 * 1024**2, "cpu": 8 * 1024**2}
MATRIX_SIZE = {"cuda": 2048, "cpu": 256}

Work = Callable[[], object]


@dataclass(frozen=True)
class Kernel:
    """What one kernel of the canary showed.

    `drift_frac` is its median over the lowest median that this device ever had, less one. `noise_frac` is how far from
    1.00 the 95 % interval of the ratio of the kernel to itself reaches.
    """

    median_ms: float
    record_ms: float
    noise_frac: float

    @property
    def drift_frac(self) -> float:
        return self.median_ms / self.record_ms - 1

    def to_json(self) -> dict[str, float]:
        found = {**vars(self), "drift_frac": self.drift_frac}
        return {name: round(value, 6) for name, value in found.items()}


class Canary:
    """`path` keeps the lowest medians, and outlives the judge. `latest` is what the last look found."""

    def __init__(self, device: JudgeDevice, telemetry: Telemetry, path: Path) -> None:
        self._device, self._telemetry, self._path = device, telemetry, path
        self._spin_cycles = device.spin_cycles(SPIN_S)
        self._sung_at = 0.0
        self.latest: dict[str, Any] | None = None

    def sing(self) -> dict[str, Any]:
        """Time a copy and a product. The caller holds the device.

        Raises GraderFault where it fails, and DeviceBusy where grades leave no memory for it.
        """
        try:
            set_precision("ieee")
            kernels = {name: self._kernel(name, work) for name, work in self._works().items()}
            readings = self._under_load()
        except torch.OutOfMemoryError as error:
            raise DeviceBusy from error
        except RuntimeError as error:
            raise GraderFault("device_fault", f"the canary failed: {error}"[:500]) from error
        self._keep({name: kernel.record_ms for name, kernel in kernels.items()})
        self._sung_at = time.monotonic()
        self.latest = {
            "kernels": {name: kernel.to_json() for name, kernel in kernels.items()},
            "noise_floor_frac": round(max(kernel.noise_frac for kernel in kernels.values()), 6),
            "drift_frac": round(max(kernel.drift_frac for kernel in kernels.values()), 6),
            **readings,
        }
        return self.latest

    def in_result(self) -> dict[str, Any] | None:
        """What a result keeps: noise, drift and state of the device, and how long ago they were found."""
        if self.latest is None:
            return None
        kept = {name: value for name, value in self.latest.items() if name != "kernels"}
        return {**kept, "age_s": round(time.monotonic() - self._sung_at, 1)}

    def _works(self) -> dict[str, Work]:
        device = self._device.name
        source = torch.zeros(COPY_BYTES[device] // 4, device=device)
        target = torch.empty_like(source)
        left = torch.ones(MATRIX_SIZE[device], MATRIX_SIZE[device], device=device)
        return {"copy": lambda: target.copy_(source), "product": lambda: left @ left}

    def _kernel(self, name: str, work: Work) -> Kernel:
        until = time.monotonic() + WARM_UP_S
        while time.monotonic() < until:
            self._timed_ms(work)
        pairs = [(self._timed_ms(work), self._timed_ms(work)) for _ in range(PAIRS)]
        # In turns, as a grade does: whoever comes second may find another state.
        ratios = [first / second if turn % 2 else second / first for turn, (first, second) in enumerate(pairs)]
        low, high = median_ci95(ratios)
        median_ms = statistics.median(one for pair in pairs for one in pair)
        best_ms = self._record().get(name, median_ms)
        return Kernel(median_ms, min(best_ms, median_ms), max(high - 1, 1 - low, 0.0))

    def _timed_ms(self, work: Work) -> float:
        self._device.flush_cache()
        self._device.synchronize()
        if self._device.name == "cpu":
            started = time.perf_counter()
            work()
            return (time.perf_counter() - started) * 1e3
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(self._spin_cycles)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    def _under_load(self) -> dict[str, Any]:
        """The driver's readings while the device works: an idle one lowers its clocks, which says nothing."""
        if self._device.name == "cuda":
            torch.cuda._sleep(100 * self._spin_cycles)
        readings = self._telemetry.read()
        self._device.synchronize()
        return readings

    def _record(self) -> dict[str, float]:
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            return {str(name): float(ms) for name, ms in json.loads(self._path.read_text()).items()}
        return {}

    def _keep(self, medians: dict[str, float]) -> None:
        draft = self._path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(medians))
        draft.replace(self._path)
