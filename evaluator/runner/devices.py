"""How a runner executes one call on its kind of device: where outputs go and which clock times the call."""

import ctypes
import os
import time
from collections.abc import Callable
from typing import Any

import torch

from evaluator.runner.attach import Segment
from evaluator.runner.candidate import CandidateFault
from evaluator.tensorspec import ITEM_BYTES, SegmentName, TensorSpec, align

Forward = Callable[[], Any]


class CpuDevice:
    """CPU tensors: results are copied into the arena inside the timed window, at the candidate's cost."""

    def __init__(self, arena: Segment, exchange: Segment) -> None:
        self._segments = {"exchange": exchange, "arena": arena}

    def timed(self, forward: Forward, spin_cycles: int) -> tuple[Any, dict[int, TensorSpec], float]:
        """Run `forward`; its result, where each tensor of it lies, and the time in ms."""
        started = time.perf_counter()
        out = forward()
        specs = _place(out, self._segments)
        return out, specs, (time.perf_counter() - started) * 1e3


class CudaDevice:
    """CUDA tensors: torch allocates in the arena while `forward` runs, so that results lie there already.

    With `mark_end` a second spin kernel, of no length, follows the call: a trace shows by the two what ran beside it.
    """

    mark_end = False

    def __init__(self, arena: Segment, exchange: Segment, allocator_path: str) -> None:
        self._segments = {"exchange": exchange, "arena": arena}
        _init_allocator(allocator_path, arena)
        self._allocator = torch.cuda.memory.CUDAPluggableAllocator(allocator_path, "arena_malloc", "arena_free")
        self._pool = torch.cuda.MemPool(self._allocator.allocator())

    def timed(self, forward: Forward, spin_cycles: int) -> tuple[Any, dict[int, TensorSpec], float]:
        """Run `forward` on the current stream between two events; as CpuDevice.timed otherwise.

        The spin kernel ahead of the first event keeps the stream busy while the host queues the rest, so that
        launch latency does not count.
        """
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        if spin_cycles:
            torch.cuda._sleep(spin_cycles)
        start.record()
        with torch.cuda.use_mem_pool(self._pool):
            out = forward()
        specs = _place(out, self._segments)
        end.record()
        if self.mark_end:
            torch.cuda._sleep(1)
        torch.cuda.synchronize()
        return out, specs, start.elapsed_time(end)


def _init_allocator(path: str, arena: Segment) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    library = ctypes.CDLL(path)
    library.arena_init(
        ctypes.c_uint64(arena.base),
        ctypes.c_size_t(arena.size),
        ctypes.cast(driver.cuMemAlloc_v2, ctypes.c_void_p),
        ctypes.cast(driver.cuMemFree_v2, ctypes.c_void_p),
    )


def _place(out: Any, segments: dict[str, Segment]) -> dict[int, TensorSpec]:
    """Find every tensor of a result in the segments, and copy into the arena what lies outside them."""
    specs: dict[int, TensorSpec] = {}
    tensors = _tensors(out, [])
    outside = []
    used = 0
    for tensor in tensors:
        spec = _locate(tensor, segments)
        if spec is None:
            outside.append(tensor)
        else:
            specs[id(tensor)] = spec
            if spec.segment == "arena":
                used = max(used, spec.offset + spec.extent_bytes)
    for tensor in outside:
        offset = align(used)
        spec = TensorSpec("arena", offset, _dtype_name(tensor), tuple(tensor.shape), _contiguous_stride(tensor.shape))
        used = offset + spec.extent_bytes
        if used > segments["arena"].size:
            listed = ", ".join(f"{_dtype_name(tensor)}{list(tensor.shape)}" for tensor in tensors[:8])
            raise CandidateFault("output", f"forward returned {listed}: more than twice what the reference returns")
        segments["arena"].view(spec).copy_(tensor)
        specs[id(tensor)] = spec
    return specs


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
