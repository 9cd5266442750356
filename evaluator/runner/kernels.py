"""What kernels a call is made of: a trace of all that ran on the device, and a switch that runs none of Triton's.

A result that is right without the submission's kernels was not made by them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C._autograd import DeviceType
from triton.runtime.interpreter import GridExecutor
from triton.runtime.jit import JITFunction


class LaunchSwitch:
    """Wraps both of Triton's launchers once; `off` makes them return without a launch."""

    def __init__(self) -> None:
        self._off = False
        self.launches = 0
        self._wrap(GridExecutor, "__call__")
        self._wrap(JITFunction, "run")

    @contextmanager
    def off(self) -> Iterator[None]:
        """No kernel runs inside."""
        self._off = True
        try:
            yield
        finally:
            self._off = False

    def _wrap(self, owner: type, name: str) -> None:
        launch = getattr(owner, name)

        def switched(*arguments: Any, **keywords: Any) -> Any:
            self.launches += 1
            return None if self._off else launch(*arguments, **keywords)

        setattr(owner, name, switched)


MAX_TRACED = 512


@contextmanager
def traced_kernels() -> Iterator[list[list[Any]]]:
    """Collects `[name, microseconds]` of every kernel, copy and fill on the device, once the block has ended."""
    found: list[list[Any]] = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA], acc_events=True) as profile:
        yield found
        torch.cuda.synchronize()
    on_device = [event for event in profile.events() or [] if event.device_type == DeviceType.CUDA]
    found.extend([event.name[:500], event.device_time_total] for event in on_device[:MAX_TRACED])
