"""How a runner executes one call on its kind of device: where outputs go and which clock times the call."""

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.runner.attach import Segment
from evaluator.runner.candidate import CandidateFault
from evaluator.tensorspec import ALIGNMENT_BYTES, ITEM_BYTES, SegmentName, TensorSpec, align

Forward = Callable[[], Any]
_WAIT_EQUAL = ctypes.c_uint(1)  # CU_STREAM_WAIT_VALUE_EQ


@dataclass(frozen=True)
class Lead:
    """What comes ahead of the forwards: a spin kernel, or a wait until `signal` stands at an offset of the exchange.

    `queued` is called once everything is queued behind that wait.
    """

    spin_cycles: int = 0
    signal: int = 0
    signal_offset: int = 0
    queued: Callable[[], None] = lambda: None


@dataclass
class Ran:
    """What forwards returned, where each tensor of it lies, and how long they took together in ms."""

    outs: list[Any] = field(default_factory=list)
    specs: dict[int, TensorSpec] = field(default_factory=dict)
    elapsed_ms: float = 0.0


class CpuDevice:
    """CPU tensors: results are copied into the arena inside the timed window, at the candidate's cost."""

    def __init__(self, arena: Segment, exchange: Segment) -> None:
        self._segments = {"exchange": exchange, "arena": arena}

    def timed(self, forwards: Sequence[Forward], lead: Lead) -> Ran:
        """Run the forwards; there is nothing to wait for on a CPU."""
        ran = Ran()
        placing = Placing(self._segments)
        started = time.perf_counter()
        for forward in forwards:
            out = forward()
            ran.specs.update(placing.place(out))
            ran.outs.append(out)
        ran.elapsed_ms = (time.perf_counter() - started) * 1e3
        return ran


class CudaDevice:
    """CUDA tensors: torch allocates in the arena while `forward` runs, so that results lie there already.

    With `mark_end` a second spin kernel, of no length, follows the call: a trace shows by the two what ran beside it.
    """

    mark_end = False

    def __init__(self, arena: Segment, exchange: Segment, allocator_path: str) -> None:
        self._segments = {"exchange": exchange, "arena": arena}
        self._driver = ctypes.CDLL("libcuda.so.1")
        _init_allocator(self._driver, allocator_path, arena)
        self._allocator = torch.cuda.memory.CUDAPluggableAllocator(allocator_path, "arena_malloc", "arena_free")
        self._pool = torch.cuda.MemPool(self._allocator.allocator())

    def timed(self, forwards: Sequence[Forward], lead: Lead) -> Ran:
        """Run the forwards on the current stream between two events; as CpuDevice.timed otherwise.

        What leads keeps the stream busy while the host queues the rest, so that launch latency does not count.
        """
        ran = Ran()
        placing = Placing(self._segments)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        if lead.signal:
            self._wait_for(lead)
        elif lead.spin_cycles:
            torch.cuda._sleep(lead.spin_cycles)
        start.record()
        with torch.cuda.use_mem_pool(self._pool):
            for forward in forwards:
                out = forward()
                ran.specs.update(placing.place(out))
                ran.outs.append(out)
        end.record()
        if self.mark_end:
            torch.cuda._sleep(1)
        if lead.signal:
            lead.queued()
        torch.cuda.synchronize()
        ran.elapsed_ms = start.elapsed_time(end)
        return ran

    def _wait_for(self, lead: Lead) -> None:
        """Hold the current stream until the judge has written the signal; the device itself looks, no kernel runs."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        address = ctypes.c_uint64(self._segments["exchange"].base + lead.signal_offset)
        code = self._driver.cuStreamWaitValue32_v2(stream, address, ctypes.c_uint32(lead.signal), _WAIT_EQUAL)
        if code != 0:
            raise OSError(f"cuStreamWaitValue32 failed with CUDA error {code}")


def _init_allocator(driver: ctypes.CDLL, path: str, arena: Segment) -> None:
    library = ctypes.CDLL(path)
    library.arena_init(
        ctypes.c_uint64(arena.base),
        ctypes.c_size_t(arena.size),
        ctypes.cast(driver.cuMemAlloc_v2, ctypes.c_void_p),
        ctypes.cast(driver.cuMemFree_v2, ctypes.c_void_p),
    )


class Placing:
    """Finds every tensor of the results in the segments, and copies to the arena's end what lies outside them."""

    def __init__(self, segments: dict[str, Segment]) -> None:
        self._segments = segments
        self._used = 0
        self._end = segments["arena"].size

    def place(self, out: Any) -> dict[int, TensorSpec]:
        """Where each tensor of one result lies, by its id. Raises CandidateFault where the arena is too small."""
        specs: dict[int, TensorSpec] = {}
        tensors = _tensors(out, [])
        outside = []
        for tensor in tensors:
            spec = _locate(tensor, self._segments)
            if spec is None:
                outside.append(tensor)
            else:
                specs[id(tensor)] = spec
                if spec.segment == "arena":
                    self._used = max(self._used, spec.offset + spec.extent_bytes)
        for tensor in outside:
            specs[id(tensor)] = self._copied(tensor, tensors)
        return specs

    def _copied(self, tensor: torch.Tensor, tensors: list[torch.Tensor]) -> TensorSpec:
        dtype, shape = _dtype_name(tensor), tuple(tensor.shape)
        size = align(tensor.numel() * ITEM_BYTES[dtype])
        self._end = (self._end - size) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
        if self._end < self._used:
            listed = ", ".join(f"{_dtype_name(tensor)}{list(tensor.shape)}" for tensor in tensors[:8])
            raise CandidateFault("output", f"forward returned {listed}: more than twice what the reference returns")
        spec = TensorSpec("arena", self._end, dtype, shape, _contiguous_stride(tensor.shape))
        self._segments["arena"].view(spec).copy_(tensor)
        return spec


def _locate(tensor: torch.Tensor, segments: dict[str, Segment]) -> TensorSpec | None:
    if min(tensor.stride(), default=0) < 0:
        return None
    names: tuple[SegmentName, ...] = ("arena", "exchange")
    for name in names:
        offset = segments[name].offset_of(tensor)
        if offset is not None and tensor.numel():
            spec = TensorSpec(
                name,
                offset,
                _dtype_name(tensor),
                tuple(tensor.shape),
                tuple(tensor.stride()),
            )
            return spec if offset + spec.extent_bytes <= segments[name].size else None
    return None


def _tensors(value: Any, found: list[torch.Tensor]) -> list[torch.Tensor]:
    """The plain tensors of a result, without calling anything that the candidate's classes may define."""
    if type(value) is torch.Tensor:
        found.append(value)
    elif type(value) in (tuple, list):
        for item in value:
            _tensors(item, found)
    elif type(value) is dict:
        for item in value.values():
            _tensors(item, found)
    return found


def _dtype_name(tensor: torch.Tensor) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in ITEM_BYTES:
        raise CandidateFault("output", f"forward returned a tensor of dtype {name}, which no reference does")
    return name


def _contiguous_stride(shape: torch.Size) -> tuple[int, ...]:
    stride: list[int] = []
    step = 1
    for size in reversed(shape):
        stride.insert(0, step)
        step *= max(size, 1)
    return tuple(stride)


def hide_other_gpus(gpu: str | None) -> None:
    """Let this process see one GPU only, by index or UUID; must come before the first CUDA call."""
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
