"""What benchmarks need that ask a GPU without a judge: options, the record's head, a cold cache, and a call's time."""

import argparse
import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

SPIN_CYCLES = 1_000_000


def options(description: str | None, *, child: bool = False) -> argparse.Namespace:
    """`record`, and `child` for a process that the benchmark starts itself. Ends the program where there is no GPU."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--record", type=Path, help="write everything measured to this JSON file")
    if child:
        made.add_argument("--child", type=int, help=argparse.SUPPRESS)
    found = made.parse_args()
    if not torch.cuda.is_available():
        print("This benchmark needs a CUDA device.", file=sys.stderr)
        raise SystemExit(2)
    return found


def about(benchmark: str) -> dict[str, Any]:
    """Date, machine and versions, as every record begins."""
    return {
        "benchmark": benchmark,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }


def evictor() -> Callable[[], object]:
    """A function that queues what evicts the L2 cache and ends with reads, as the judge's device does."""
    flush = torch.zeros(torch.cuda.get_device_properties(0).L2_cache_size // 2, dtype=torch.int32, device="cuda")
    return lambda: flush.add_(1).sum()


def between_events_ms(run: Callable[[], object], *, spin: bool = True) -> float:
    """Milliseconds of what `run` queues: behind a spin kernel, so that no launch counts."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    if spin:
        torch.cuda._sleep(SPIN_CYCLES)
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)
