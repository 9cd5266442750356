"""What the judge needs of a device: segments, a digest, a cache flush, memory figures and a description."""

import ctypes
import hashlib
import platform
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import torch

from evaluator.errors import GraderFault
from evaluator.judge.digest import cuda_digests
from evaluator.judge.segments import CudaSegment, Segment, ShmSegment

_SPIN_PROBE_CYCLES = 10_000_000
_FLUSHES = 20
_ALONE_FACTOR = 3.0
_ALONE_SLACK_MS = 0.3
ROW_BYTES_MAX = 4 * 1024**3
ROW_MEMORY_SHARE = 32

# a CUDA event, or seconds of the host's clock
Mark = Any


class JudgeDevice(Protocol):
    """`name` is torch's name of the device type, `cpu` or `cuda`."""

    name: str
    gpu_name: str | None
    #: whether a runner's stream can wait on the device for a signal of the judge's
    has_signals: bool
    #: memory for the inputs and outputs of several forwards in a row
    row_bytes: int

    def segment(self, size: int) -> Segment:
        """A segment of `size` bytes for runners to map."""

    def synchronize(self) -> None:
        """Wait for all work queued on the device."""

    def mark(self) -> Mark:
        """A point in the order of what this process has queued on the device."""

    def ms_between(self, begin: Mark, end: Mark) -> float:
        """Milliseconds from one mark to a later one, by the device's clock; waits until it is reached."""

    def digests(self, regions: Sequence[torch.Tensor], key: int) -> list[bytes]:
        """Of contiguous 1-D uint8 tensors, one each, that depend on the position of every byte."""

    def flush_cache(self) -> None:
        """Evict inputs and outputs from the device's caches."""

    def flushed_alone(self) -> bool:
        """Evict as `flush_cache` does and wait; whether it took as long as it does when nothing else runs."""

    def spin_cycles(self, duration_s: float) -> int:
        """Clock cycles for which a spin kernel runs that long; 0 where there is none."""

    def free_bytes(self) -> int:
        """Memory that is free for segments."""

    def reset_peak(self) -> None:
        """Start to watch how much memory torch takes."""

    def peak_bytes(self) -> int:
        """The most that torch took of the device, with what it kept for later, beyond what it had when `reset_peak` was
        called; 0 where nobody counts."""

    def trim(self) -> None:
        """Give memory that torch keeps for later back to the device, for other processes."""

    def describe(self) -> dict[str, Any]:
        """The `environment` of a result."""


class CpuJudgeDevice:
    name = "cpu"
    gpu_name: str | None = None
    has_signals = False
    row_bytes = 0

    def __init__(self) -> None:
        # The interpreter's sizes are small: on shared cores threads wait for each other ten times as long as they work.
        torch.set_num_threads(1)

    def segment(self, size: int) -> Segment:
        return ShmSegment(size)

    def synchronize(self) -> None:
        return None

    def mark(self) -> Mark:
        return time.perf_counter()

    def ms_between(self, begin: Mark, end: Mark) -> float:
        return float(end - begin) * 1e3

    def digests(self, regions: Sequence[torch.Tensor], key: int) -> list[bytes]:
        keyed = partial(hashlib.blake2b, digest_size=16, key=key.to_bytes(8, "big"))
        return [keyed(region.numpy().data).digest() for region in regions]

    def flush_cache(self) -> None:
        return None

    def flushed_alone(self) -> bool:
        return True

    def spin_cycles(self, duration_s: float) -> int:
        return 0

    def free_bytes(self) -> int:
        with open("/proc/meminfo") as file:
            kib = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
        return kib * 1024

    def reset_peak(self) -> None:
        return None

    def peak_bytes(self) -> int:
        return 0

    def trim(self) -> None:
        return None

    def describe(self) -> dict[str, Any]:
        return {"device": "cpu", "gpu": None, "gpu_id": None, "cpu": platform.machine(), **_versions()}


class CudaJudgeDevice:
    """The GPU that CUDA lists first for this process; the caller hides the others."""

    name = "cuda"
    has_signals = True

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise GraderFault("no_cuda", "no CUDA device is usable here", retryable=False)
        self._properties = torch.cuda.get_device_properties(0)
        self.gpu_name: str | None = self._properties.name
        flush_bytes = 2 * max(self._properties.L2_cache_size, 1 << 20)
        self._flush = torch.zeros(flush_bytes // 4, dtype=torch.int32, device="cuda")
        self._cycles_per_s = self._measure_spin()
        self._flush_alone_ms = min(self._timed_flush() for _ in range(_FLUSHES))
        self.row_bytes = min(ROW_BYTES_MAX, self._properties.total_memory // ROW_MEMORY_SHARE)

    def segment(self, size: int) -> Segment:
        return CudaSegment(size)

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def mark(self) -> Mark:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ms_between(self, begin: Mark, end: Mark) -> float:
        end.synchronize()
        return float(begin.elapsed_time(end))

    def digests(self, regions: Sequence[torch.Tensor], key: int) -> list[bytes]:
        return cuda_digests(regions, key)

    def flush_cache(self) -> None:
        # Ends with a read, so that no dirty line drains inside the timed window.
        self._flush.add_(1)
        self._flush.sum()

    def flushed_alone(self) -> bool:
        # Contexts take turns of 2 ms: beside another one that never rests, a flush of 0.24 ms takes 2 (an H200).
        took_ms = self._timed_flush()
        # The first ones met a device whose clocks were low, and would let anything pass for alone.
        self._flush_alone_ms = min(self._flush_alone_ms, took_ms)
        return took_ms < _ALONE_FACTOR * self._flush_alone_ms + _ALONE_SLACK_MS

    def _timed_flush(self) -> float:
        started = time.perf_counter()
        self.flush_cache()
        torch.cuda.synchronize()
        return (time.perf_counter() - started) * 1e3

    def spin_cycles(self, duration_s: float) -> int:
        return int(self._cycles_per_s * duration_s)

    def free_bytes(self) -> int:
        torch.cuda.empty_cache()
        return int(torch.cuda.mem_get_info()[0])

    def reset_peak(self) -> None:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self._reserved_before = torch.cuda.memory_reserved()

    def peak_bytes(self) -> int:
        return int(torch.cuda.max_memory_reserved() - self._reserved_before)

    def trim(self) -> None:
        torch.cuda.empty_cache()

    def describe(self) -> dict[str, Any]:
        return {
            "device": "cuda",
            "gpu": self.gpu_name,
            "gpu_id": f"GPU-{self._properties.uuid}",
            "compute_capability": f"{self._properties.major}.{self._properties.minor}",
            "cuda": torch.version.cuda,
            "driver": _driver_version(),
            **_versions(),
        }

    def _measure_spin(self) -> float:
        for _ in range(2):
            torch.cuda.synchronize()
            started = time.perf_counter()
            torch.cuda._sleep(_SPIN_PROBE_CYCLES)
            torch.cuda.synchronize()
        return _SPIN_PROBE_CYCLES / (time.perf_counter() - started)


def make_device(kind: str) -> JudgeDevice:
    """The device of an evaluator kind, `gpu` or `cpu`. Raises GraderFault where there is none."""
    device: JudgeDevice = CudaJudgeDevice() if kind == "gpu" else CpuJudgeDevice()
    return device


def _driver_version() -> int:
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return version.value


def _versions() -> dict[str, str]:
    import triton

    return {"torch": str(torch.__version__), "triton": triton.__version__, "python": platform.python_version()}
