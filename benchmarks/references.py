"""`python -m benchmarks.references`: each task's reference graded against itself, which has to be correct at 1.00.

One JSON line per task, written as soon as it is known; what a record already holds is not measured again, so that a run
may be cut off and continued, or shared out with `--shard`.
"""

import argparse
import fnmatch
import json
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.device_memory import DeviceMemory, Peak
from benchmarks.support import machine, parser, warm_judge
from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.limits import Limits
from evaluator.report import Report
from evaluator.shards import add_shard_option
from evaluator.submission import Submission
from evaluator.tasks import Catalogue, Task, source_for

APART_MAX = 0.03
FEEDBACK_CHARS = 600
ABOUT = ("date", "gpu", "driver", "torch", "triton", "grader")


def main() -> int:
    """Exit code 0 where every task measured is correct at 1.00 within 3 %."""
    options = _options()
    told = [line for path in [options.record, *options.skip] for line in read(path)]
    tasks = [task for task in chosen(options) if task.task_id not in {line["task_id"] for line in told}]
    print(f"{len(tasks)} tasks to measure", file=sys.stderr)
    if tasks:
        measure(tasks, options)
    lines = read(options.record)
    print(table(lines))
    return 0 if lines and all(exception(line) is None for line in lines) else 1


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.set_defaults(record=Path("references.jsonl"))
    made.add_argument("--levels", default="1,2", help="comma list")
    made.add_argument(
        "--only", action="append", default=[], help="ids or patterns such as 'level1/2*'; may be repeated"
    )
    add_shard_option(made)
    made.add_argument(
        "--skip", type=Path, action="append", default=[], help="a record whose tasks are not measured again"
    )
    made.add_argument("--deadline-s", type=float, default=1e9, help="no task is begun after that many seconds")
    made.add_argument("--budget-s", type=float, default=0.5, help="seconds each for warming up and for pairs, per task")
    made.add_argument("--trials", type=int, default=2, help="correctness trials per task")
    made.add_argument("--pairs-max", type=int, default=100)
    return made.parse_args()


def chosen(options: argparse.Namespace) -> list[Task]:
    """The tasks of this run, before what is recorded is left out."""
    levels = {int(level) for level in options.levels.split(",")}
    patterns = options.only or ["*"]
    tasks = [
        task
        for task in Catalogue(options.tasks_dir).list(supported=True)
        if task.level in levels and any(fnmatch.fnmatchcase(task.task_id, pattern) for pattern in patterns)
    ]
    return list(options.shard.of(tasks))


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a record; one that was cut off by the end of its run is left out."""
    return list(_lines(path.read_text())) if path.exists() else []


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def measure(tasks: list[Task], options: argparse.Namespace) -> None:
    """Grade the tasks in a warm judge, as many at once as it has lanes."""
    began = time.monotonic()
    limits = Limits(
        correctness_trials=options.trials,
        timing_s=options.budget_s,
        cpu_timing_s=options.budget_s,
        timing_pairs_max=options.pairs_max,
    )
    options.record.parent.mkdir(parents=True, exist_ok=True)
    memory = DeviceMemory(options.gpu)
    with warm_judge(options, limits=limits, audit=True) as (judge, settings), options.record.open("a") as file:
        print(f"judge ready after {time.monotonic() - began:.1f} s", file=sys.stderr)
        about = {name: value for name, value in machine(judge, settings).items() if name in ABOUT}
        lock = threading.Lock()

        def one(task: Task) -> None:
            if time.monotonic() - began > options.deadline_s:
                return
            line = {**grade(task, judge, settings, memory), "machine": about}
            with lock:
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(row(line), file=sys.stderr)

        with ThreadPoolExecutor(options.lanes) as pool:
            list(pool.map(one, tasks))


def grade(task: Task, judge: JudgeProcess, settings: EvaluatorConfig, memory: DeviceMemory) -> dict[str, Any]:
    """One task's line: what was measured, or why nothing was."""
    source = source_for(task, "cuda" if settings.kind == "gpu" else "cpu")
    submission = Submission("reference", task.task_id, source, "triton", secrets.token_hex(32))
    client = JudgeClient(judge.socket_path, settings)
    began = time.monotonic()
    try:
        with Peak(memory) as peak:
            report = client.evaluate(submission, lambda _: None)
    except GraderFault as fault:
        found: dict[str, Any] = {"verdict": None, "fault": fault.code, "feedback": fault.detail[-FEEDBACK_CHARS:]}
        return {"task_id": task.task_id, **found, "seconds": round(time.monotonic() - began, 3)}
    finally:
        client.close()
        if not judge.alive():
            judge.start()
    seconds = round(time.monotonic() - began, 3)
    return {"task_id": task.task_id, **figures(report), "device_peak_bytes": peak.bytes, "seconds": seconds}


def figures(report: Report) -> dict[str, Any]:
    """What is kept of a report."""
    result = report.result()
    kept = ("speedup", "speedup_ci95", "t_ref_ms", "t_new_ms", "pairs", "t_min_ms", "ref_roofline_frac", "max_abs_err")
    return {
        "verdict": str(report.verdict),
        **{name: result[name] for name in kept},
        "error_ratio": report.error_ratio,
        "feedback": None if report.correct else report.feedback[:FEEDBACK_CHARS],
        "device_need_bytes": report.environment.get("device_need_bytes"),
        "phases": report.phases,
        "device_held_s": report.environment.get("device_held_s"),
    }


def exception(line: dict[str, Any]) -> str | None:
    """What has to be explained about a task, if anything."""
    if line["verdict"] != "correct":
        return f"{line['verdict'] or 'no verdict'}: {(line['feedback'] or '').splitlines()[0][:150]}"
    if abs(line["speedup"] - 1) > APART_MAX:
        low, high = line["speedup_ci95"]
        return f"speedup {line['speedup']:.3f} (95 % interval {low:.3f} to {high:.3f}, {line['pairs']} pairs)"
    return None


def row(line: dict[str, Any]) -> str:
    """One line for the person who watches."""
    speedup = f"{line['speedup']:.4f} {line['t_ref_ms']:9.4f} ms" if line["verdict"] == "correct" else "-"
    return f"{line['seconds']:6.2f} s  {line['verdict'] or line['fault']:18} {speedup:24} {line['task_id']}"


def table(lines: list[dict[str, Any]]) -> str:
    """The totals, and every task that is not correct at 1.00."""
    odd = [(line["task_id"], text) for line in lines if (text := exception(line))]
    spent = sum(line["seconds"] for line in lines)
    head = [f"{len(lines)} tasks, {len(lines) - len(odd)} correct at 1.00 within {APART_MAX:.0%}, {spent:.0f} s in all"]
    heavy = sorted(lines, key=lambda line: line.get("device_peak_bytes") or line.get("device_need_bytes") or 0)[-5:]
    head += [
        f"  memory {(line.get('device_peak_bytes') or line.get('device_need_bytes') or 0) / 1024**3:7.2f} GiB  "
        f"{line['task_id']}"
        for line in reversed(heavy)
    ]
    return "\n".join([*head, *(f"  {task_id}: {text}" for task_id, text in odd)])


if __name__ == "__main__":
    sys.exit(main())
