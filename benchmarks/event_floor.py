"""`python -m benchmarks.event_floor`: what two events count beside the kernel that runs between them.

A kernel of different lengths between two events, behind a spin kernel and behind nothing, by the events and by CUPTI;
and two events with nothing between them. Medians in microseconds.
"""

import statistics
import sys
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.bare_gpu import SPIN_CYCLES, about, between_events_ms, options
from benchmarks.support import write_record

ELEMENTS = (1 << 10, 1 << 18, 1 << 22, 1 << 25, 1 << 28)
CALLS = 30


def main() -> int:
    """Measure every length, print the table last."""
    asked = options(__doc__)
    rows = [{"elements": 0, "spun_us": between_us(None, True), "bare_us": between_us(None, False), "cupti_us": 0.0}]
    for elements in ELEMENTS:
        x = torch.randn(elements, device="cuda")
        y = torch.empty_like(x)
        spun, bare = between_us((x, y), True), between_us((x, y), False)
        rows.append({"elements": elements, "spun_us": spun, "bare_us": bare, "cupti_us": cupti_us(x, y)})
    write_record(asked.record, about("event_floor") | {"calls": CALLS, "rows": rows})
    print(f"{'elements':>12} {'behind a spin':>14} {'bare':>9} {'CUPTI':>9} {'beside it':>10}  us")
    for row in rows:
        beside = row["spun_us"] - row["cupti_us"]
        print(
            f"{row['elements']:12} {row['spun_us']:14.2f} {row['bare_us']:9.2f} {row['cupti_us']:9.2f} {beside:10.2f}"
        )
    return 0


def between_us(tensors: tuple[torch.Tensor, torch.Tensor] | None, spin: bool) -> float:
    """The median between two events around the kernel, or around nothing."""

    def run() -> None:
        if tensors is not None:
            torch.clamp_min(tensors[0], 0.0, out=tensors[1])

    return 1e3 * statistics.median(between_events_ms(run, spin=spin) for _ in range(CALLS))


def cupti_us(x: torch.Tensor, y: torch.Tensor) -> float:
    """The median of the kernel's own time."""
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as traced:
        for _ in range(CALLS):
            torch.cuda._sleep(SPIN_CYCLES)
            torch.clamp_min(x, 0.0, out=y)
        torch.cuda.synchronize()
    events: list[Any] = [event for event in traced.events() or [] if event.device_type == DeviceType.CUDA]
    return statistics.median(event.time_range.elapsed_us() for event in events if "spin" not in event.name)


if __name__ == "__main__":
    sys.exit(main())
