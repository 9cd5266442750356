"""`python -m benchmarks.floors`: the roofline's floors of real tasks, held against what PyTorch itself takes.

No reference may be faster than the share of its floor at which a time is refused. Also shown: which share of a task's
bytes the floor counts, and what finding that out took.
"""

import fnmatch
import gc
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.support import parser
from evaluator.judge.compare import Tolerance
from evaluator.judge.dependence import Dependence
from evaluator.judge.device import JudgeDevice, make_device
from evaluator.judge.reference import Reference
from evaluator.judge.work import count_work
from evaluator.limits import Limits
from evaluator.roofline.model import compute_floor_ms, memory_floor_ms, roofline
from evaluator.roofline.peaks import Peaks, find_peaks
from evaluator.tasks import Catalogue, Task, source_for

TIMED_CALLS = 5
SEED = 3


def main() -> int:
    """Exit code 0 if no reference beats its floor and every task was looked at, 1 if one does, 2 for a short look."""
    made = parser(__doc__)
    made.add_argument("--levels", default="1,2", help="comma list")
    made.add_argument("--only", default="*", help="a pattern such as 'level1/1*'")
    made.add_argument("--gpu-name", help="hold the figures against this GPU's peaks, instead of the one at hand")
    made.add_argument("--deadline-s", type=float, default=540.0, help="begin no task after so many seconds")
    options = made.parse_args()
    end = time.monotonic() + options.deadline_s
    device = "cuda" if options.evaluator == "gpu" else "cpu"
    peaks = find_peaks(options.gpu_name or (torch.cuda.get_device_name(0) if device == "cuda" else None))
    if peaks is None:
        made.error("this GPU is not in the table of peaks; --gpu-name takes one that is")
    levels = {int(level) for level in options.levels.split(",")}
    tasks = [
        task
        for task in Catalogue(options.tasks_dir)
        if task.supported and task.level in levels and fnmatch.fnmatch(task.task_id, options.only)
    ]
    at_hand = make_device(options.evaluator)
    rows = []
    for task in tasks:
        if time.monotonic() > end:
            break
        rows.append(look(task, at_hand, peaks))
        print(line(rows[-1]), flush=True)
        if options.record:
            options.record.parent.mkdir(parents=True, exist_ok=True)
            Path(options.record).write_text("".join(json.dumps(row) + "\n" for row in rows))
    beaten = [row["task"] for row in rows if row["beats_floor"]]
    failed = [row["task"] for row in rows if row.get("error")]
    print(f"{len(rows)} of {len(tasks)} tasks on {peaks.name}; faster than their floor: {beaten}; not run: {failed}")
    return 1 if beaten else 2 if len(rows) < len(tasks) else 0


def look(task: Task, device: JudgeDevice, peaks: Peaks) -> dict[str, Any]:
    """One task's floors, how long finding them took, and the reference's own time."""
    try:
        return _look(task, device, peaks)
    except (RuntimeError, TypeError, ValueError) as error:
        return {"task": task.task_id, "beats_floor": False, "error": f"{type(error).__name__}: {error}"[:300]}
    finally:
        gc.collect()
        device.trim()


def _look(task: Task, device: JudgeDevice, peaks: Peaks) -> dict[str, Any]:
    reference = Reference(task.task_id, source_for(task, "cuda" if device.name == "cuda" else "cpu"), device.name)
    reference.construct(SEED)
    work, _ = count_work(reference, reference.inputs(SEED), SEED)
    began = time.monotonic()
    allowed = Limits().tolerance
    tolerance = Tolerance(allowed, allowed, task.special.comparison.atol_of_max_frac)
    work = Dependence().complete(work, reference, tolerance)
    looked_s = time.monotonic() - began
    memory_ms, compute_ms = memory_floor_ms(work, peaks), compute_floor_ms(work, peaks)
    floor_ms = max(memory_ms, compute_ms if work.flops_necessary else 0.0)
    t_ref_ms = _time_ms(reference, device)
    return {
        "task": task.task_id,
        "t_ref_ms": round(t_ref_ms, 5),
        "t_min_ms": round(roofline(work, peaks).t_min_ms, 5),
        "floor_ms": round(floor_ms, 5),
        "bound": roofline(work, peaks).bound,
        "flops_necessary": work.flops_necessary,
        "required_share": round((work.required_bytes or 0) / max(work.input_bytes, 1), 4),
        "looked_s": round(looked_s, 2),
        "beats_floor": t_ref_ms < Limits().roofline_reject_frac * floor_ms and device.name == "cuda",
    }


def _time_ms(reference: Reference, device: JudgeDevice) -> float:
    """The median of a few calls with TF32 on and a cold cache, as references are timed."""
    inputs = reference.inputs(SEED)
    found = []
    for _ in range(TIMED_CALLS):
        device.flush_cache()
        device.synchronize()
        began = time.perf_counter()
        reference.forward(inputs, SEED, "tf32")
        device.synchronize()
        found.append((time.perf_counter() - began) * 1e3)
    return statistics.median(found)


def line(row: dict[str, Any]) -> str:
    if row.get("error"):
        return f"{row['task']:55} {row['error'][:100]}"
    note = "  BEATS ITS FLOOR" if row["beats_floor"] else ""
    return (
        f"{row['task']:55} t_ref {row['t_ref_ms']:10.4f} t_min {row['t_min_ms']:9.4f} floor {row['floor_ms']:9.4f} ms "
        f"reads {row['required_share']:6.1%} in {row['looked_s']:5.2f} s{note}"
    )


if __name__ == "__main__":
    sys.exit(main())
