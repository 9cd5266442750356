"""Makes Triton's interpreter complete enough to grade with: a benchmarker for autotuned kernels, a warm start."""

import operator
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.driver import driver


def _benchmark(kernel_call: Callable[[], Any], quantiles: Sequence[float] | None = None, **_: Any) -> list[float]:
    """Time one call in ms, in the form of triton.testing.do_bench: the interpreter's configurations differ by
    orders of magnitude or not at all, so that more repeats would only cost time."""
    started = time.perf_counter()
    kernel_call()
    elapsed_ms = (time.perf_counter() - started) * 1e3
    return [elapsed_ms] * len(quantiles or (0.5,))


class _InterpreterDriver:
    """Stands in for the device driver, of which the interpreter has none; without it autotuned kernels raise."""

    def get_benchmarker(self) -> Callable[..., list[float]]:
        return _benchmark

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_current_device(self) -> int:
        return 0

    def get_current_target(self) -> Any:
        return triton.backends.compiler.GPUTarget("interpreter", 0, 32)

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0)

    def clear_cache(self, cache: torch.Tensor) -> None:
        cache.zero_()


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne")


def mend_constexpr() -> None:
    """Let `constexpr * tensor` give a tensor, as it does in a compiled kernel; the interpreter wraps it once more."""
    for name in _OPERATORS:
        method = f"__{name}__"
        setattr(tl.constexpr, method, _unwrapping(getattr(tl.constexpr, method), getattr(operator, name)))


def _unwrapping(original: Callable[..., Any], plain: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        return plain(self.value, other) if isinstance(other, tl.tensor) else original(self, other)

    return operate


def install_benchmarker() -> None:
    """Give the interpreter a driver that can benchmark."""
    driver.set_active(_InterpreterDriver())


@triton.jit
def _add_one(x, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) + 1.0, mask=mask)


def warm_up() -> None:
    """Run one interpreted kernel. Raises RuntimeError if the interpreter does not work on this machine."""
    x = torch.zeros(8)
    _add_one[(1,)](x, 8, BLOCK=8)
    if statistics.fmean(x.tolist()) != 1.0:
        raise RuntimeError("Triton's interpreter gives wrong results on this machine")
