"""What kernels a call is made of: a trace of all that ran on the device, and a switch for Triton's launches."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch._C._autograd import DeviceType
from triton.compiler import CompiledKernel
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import GridExecutor
from triton.runtime.jit import JITFunction

MAX_TRACED = 512
_SPIN = "spin_kernel"
# Time stamps of the tracer agree with each other to about this much.
_CLOCK_US = 1.0


class LaunchSwitch:
    """Wraps Triton's launchers once. `off`: nothing is launched, to show whether a result is made by the kernels.
    `compile_only`: kernels are compiled, all of an autotuner's configurations too, and nothing is launched."""

    def __init__(self) -> None:
        self._mode: Literal["on", "off", "compile"] = "on"
        self._tuners: list[Any] = []
        self._wrap_interpreter()
        self._wrap_jit()
        self._wrap_autotuner()

    @contextmanager
    def off(self) -> Iterator[None]:
        """No kernel runs inside."""
        self._mode = "off"
        try:
            yield
        finally:
            self._mode = "on"

    @contextmanager
    def compile_only(self) -> Iterator[None]:
        """Kernels are compiled inside and not launched; autotuners measure nothing and keep no choice."""
        self._mode = "compile"
        try:
            yield
        finally:
            self._mode = "on"
            for tuner in self._tuners:
                tuner.cache.clear()
            self._tuners.clear()

    def _wrap_interpreter(self) -> None:
        launch = GridExecutor.__call__

        def call(*arguments: Any, **keywords: Any) -> Any:
            return launch(*arguments, **keywords) if self._mode == "on" else None

        GridExecutor.__call__ = call

    def _wrap_jit(self) -> None:
        launch = JITFunction.run

        def run(*arguments: Any, **keywords: Any) -> Any:
            if self._mode == "off":
                return None
            if self._mode != "compile":
                return launch(*arguments, **keywords)
            kernel = launch(*arguments, **dict(keywords, warmup=True))
            _build_launcher(kernel)
            return kernel

        JITFunction.run = run

    def _wrap_autotuner(self) -> None:
        bench = Autotuner._bench

        def compile_config(tuner: Any, *arguments: Any, config: Any, **meta: Any) -> Any:
            if self._mode == "on":
                return bench(tuner, *arguments, config=config, **meta)
            self._tuners.append(tuner)
            try:
                tuner.fn.run(*arguments, **dict(meta, **config.all_kwargs()))
            except Exception:  # noqa: BLE001 - a configuration that does not fit is one the real tuner passes over
                return [float("inf")] * 3
            return [1.0] * 3

        Autotuner._bench = compile_config


def _build_launcher(kernel: Any) -> None:
    """Have the C function that launches this kernel built too: up to Triton 3.6 each signature has one of its own,
    made by a C compiler at the first launch, while this grade holds the device."""
    if isinstance(kernel, CompiledKernel):
        driver.active.launcher_cls(kernel.src, kernel.metadata)


@dataclass(frozen=True)
class Traced:
    """`kernels` are `[name, microseconds]` of all that ran; `beside` names what ran outside of the marked call."""

    kernels: list[list[Any]]
    beside: list[str]


class Tracer:
    """Lists every kernel, copy and fill on the device between `begin` and `end`."""

    def __init__(self) -> None:
        self._profile: Any = None
        # Whether a tracer is on is not a kernel's business.
        torch.autograd._profiler_enabled = torch._C._autograd._profiler_enabled = lambda: False  # type: ignore[attr-defined]

    def begin(self) -> None:
        """Start to trace; the first time takes about a second."""
        self._profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA], acc_events=True)
        self._profile.__enter__()

    def end(self) -> Traced:
        """What ran since `begin`."""
        torch.cuda.synchronize()
        self._profile.__exit__(None, None, None)
        on_device = [event for event in self._profile.events() or [] if event.device_type == DeviceType.CUDA]
        kernels = [[event.name[:500], event.device_time_total] for event in on_device[:MAX_TRACED]]
        return Traced(kernels, _beside(on_device)[:MAX_TRACED])


def _beside(events: list[Any]) -> list[str]:
    """Names of what began before the first spin kernel ended or ended after the last one began."""
    spins = sorted((event.time_range for event in events if _SPIN in event.name), key=lambda span: span.start)
    if len(spins) < 2:
        return []
    begin, end = spins[0].end - _CLOCK_US, spins[-1].start + _CLOCK_US
    others = [event for event in events if _SPIN not in event.name]
    return [event.name[:500] for event in others if event.time_range.start < begin or event.time_range.end > end]
