"""`python -m benchmarks.accuracy`: how far the judge's numbers can be believed, on this device.

A/A: the reference graded against itself, many times over, must give 1.00. A/B: one fixed kernel, graded as often, must
give the same speedup each time, and on a GPU the time that CUPTI sees.
"""

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.accuracy_table import row, show
from benchmarks.sized_tasks import ON_CPU, ON_GPU, SizedTask, write_tasks
from benchmarks.support import machine, parser, warm_judge, write_record
from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.report import Report
from evaluator.submission import Submission

CUPTI_CALLS = 20
# A gap in the figures is worse than a late end, but the machine may be lent: leave room for the record.
RESERVE_S = 5.0


def main() -> int:
    """Exit code 0 if every figure is inside its bounds, 1 if one is not, 2 if too few were measured to say."""
    made = parser(__doc__)
    made.add_argument("--gradings", type=int, default=20)
    made.add_argument("--deadline-s", type=float, default=540.0, help="begin no grading after so many seconds")
    made.add_argument("--only", help="cases whose task's name contains this text")
    options = made.parse_args()
    end = time.monotonic() + options.deadline_s - RESERVE_S
    tasks = tuple(t for t in (ON_GPU if options.evaluator == "gpu" else ON_CPU) if (options.only or "") in t.task_id)
    with tempfile.TemporaryDirectory(prefix="bench-tasks-") as folder:
        write_tasks(Path(folder), tasks)
        options.tasks_dir = folder
        by_cupti = cupti_times(tasks, options) if options.evaluator == "gpu" else {}
        # An idle second judge disturbs no timing, and turns between the two let a slow drift meet both alike.
        with warm_judge(options, audit=True) as auditor, warm_judge(options) as judge:
            aa, ab = measure(auditor, judge, tasks, options.gradings, end)
            record = {"benchmark": "accuracy", **machine(*judge)}
    rows = [row(task, "A/A", aa[task], None) for task in tasks]
    rows += [row(task, "A/B", ab[task], by_cupti.get(task)) for task in tasks]
    record |= {"gradings_asked": options.gradings, "cases": rows}
    write_record(options.record, record)
    show(record)
    return 2 if any(r["holds"] is None for r in rows) else int(not all(r["holds"] for r in rows))


Judge = tuple[JudgeProcess, EvaluatorConfig]
Reports = dict[SizedTask, list[Report]]


def measure(
    auditor: Judge, judge: Judge, tasks: tuple[SizedTask, ...], gradings: int, end: float
) -> tuple[Reports, Reports]:
    """Round by round through all cases: the reference against itself, then the kernel against the reference.

    In all lanes of one judge at a time, as in service: what does not need the device goes on beside a timing.
    """
    aa: Reports = {task: [] for task in tasks}
    ab: Reports = {task: [] for task in tasks}
    with ThreadPoolExecutor(judge[1].lanes) as pool:
        for _ in range(gradings):
            for kept, by in ((aa, auditor), (ab, judge)):
                for task, report in zip(tasks, pool.map(partial(grade, by, end=end), tasks), strict=True):
                    kept[task] += [] if report is None else [report]
    return aa, ab


def grade(by: Judge, task: SizedTask, end: float) -> Report | None:
    """One grade, of the reference itself by a judge that audits; None after the end."""
    judge, settings = by
    if time.monotonic() > end:
        return None
    code = task.source if settings.audit else task.kernel
    client = JudgeClient(judge.socket_path, settings)
    try:
        submission = Submission("accuracy", task.task_id, code, "triton", secrets.token_hex(32))
        return client.evaluate(submission, lambda phase: None)
    finally:
        client.close()


def cupti_times(tasks: tuple[SizedTask, ...], options: argparse.Namespace) -> dict[SizedTask, float]:
    """Median device time of each task's kernel in ms, measured before the judge takes the device."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", str(options.gpu))}
    found = {}
    for task in tasks:
        order = json.dumps({"task": task.source, "kernel": task.kernel, "calls": CUPTI_CALLS})
        command = [sys.executable, "-m", "benchmarks.kernel_time"]
        done = subprocess.run(command, input=order, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"no kernel time of {task.task_id}: {done.stderr[-2000:]}")
        found[task] = statistics.median(json.loads(done.stdout.splitlines()[-1])["kernel_ms"])
    return found


if __name__ == "__main__":
    sys.exit(main())
