"""`python -m benchmarks.kernel_time`: device time of a kernel's calls as CUPTI sees it, in a process without a judge.

Reads `{"task": SOURCE, "kernel": SOURCE, "calls": N}` on standard input, prints `{"kernel_ms": [...]}`.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

SPIN_CYCLES = 1_000_000
WARM_UP_CALLS = 5


def main() -> None:
    order = json.load(sys.stdin)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory(prefix="kernel-time-") as folder, torch.device("cuda"), torch.no_grad():
        task, kernel = (_module(folder, name, order[name]) for name in ("task", "kernel"))
        model = kernel.ModelNew(*task.get_init_inputs())
        flush = torch.zeros(2 * torch.cuda.get_device_properties(0).L2_cache_size // 4, dtype=torch.int32)
        for _ in range(WARM_UP_CALLS):
            model(*task.get_inputs())
        found = [_call_ms(model, task.get_inputs(), flush) for _ in range(order["calls"])]
    print(json.dumps({"kernel_ms": found}))


def _call_ms(model: torch.nn.Module, inputs: list[torch.Tensor], flush: torch.Tensor) -> float:
    """Milliseconds of everything that one call runs on the device, with a cold cache and the launches queued ahead."""
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as trace:
        flush.add_(1)
        flush.sum()
        torch.cuda.synchronize()
        torch.cuda._sleep(SPIN_CYCLES)  # type: ignore[no-untyped-call]
        model(*inputs)
        torch.cuda.synchronize()
    events = [event for event in trace.events() or [] if event.device_type == DeviceType.CUDA]
    spin_end = max(event.time_range.end for event in events if "spin_kernel" in event.name)
    return float(sum(event.time_range.elapsed_us() for event in events if event.time_range.start >= spin_end)) / 1e3


def _module(folder: str, name: str, source: str) -> Any:
    """Import a source from a file of its own: Triton reads the text of its functions back."""
    path = Path(folder, f"{name}.py")
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
