"""`python -m benchmarks.vs_kernelbench`: the same kernels through KernelBench's own evaluator and through a warm judge.

Side by side in one run on one GPU. KernelBench's evaluator gets a fresh process for each kernel, as it is meant to be
used, and is loaded from a checkout (`--kernelbench-src`). It takes about 90 s for a kernel with large inputs.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.support import MIX, Case, machine, parser, warm_judge, write_record
from evaluator.client import JudgeClient
from evaluator.submission import Submission
from evaluator.tasks import Catalogue

# KernelBench holds fp32 to 1e-4, which products in TF32 do not keep; a refusal after one trial would compare nothing.
DOT = "tl.dot(left, right, total)"
PRECISE_DOT = 'tl.dot(left, right, total, input_precision="tf32x3")'
LIMIT_S = 420.0
# for the grades with all lanes busy, after the last of the other evaluator
RESERVE_S = 60.0


def main() -> int:
    """Exit code 0 if both sides found every kernel correct, 1 if not, 2 if the deadline left kernels out."""
    options = _options()
    end = time.monotonic() + options.deadline_s - RESERVE_S
    catalogue = Catalogue(options.tasks_dir)
    cases = [case for case in MIX if not options.only or any(text in case.task_id for text in options.only.split(","))]
    rows = []
    with warm_judge(options) as (judge, settings):

        def ours(case: Case) -> dict[str, Any]:
            client = JudgeClient(judge.socket_path, settings)
            made = case.submission()
            submission = Submission("bench", case.task_id, code_of(case), case.language, made.seed_key)
            began = time.monotonic()
            report = client.evaluate(submission, lambda phase: None)
            client.close()
            timing = report.timing
            return {
                "seconds": time.monotonic() - began,
                "correct": report.correct,
                "feedback": report.feedback[:300],
                "t_new_ms": timing.t_new_ms if timing else None,
                "t_ref_ms": timing.t_ref_ms if timing else None,
            }

        for case in cases:
            ours(case)  # warm: the judge has met the task, as it has after the first of a training run's many
            single = [ours(case) for _ in range(options.gradings)]
            theirs = kernelbench(catalogue.get(case.task_id).source, code_of(case), options, end)
            rows.append(row(case, theirs, single))
        with ThreadPoolExecutor(options.lanes) as pool:
            began = time.monotonic()
            saturated = list(pool.map(ours, cases * options.rounds))
            each_s = (time.monotonic() - began) / len(saturated)
        record = {"benchmark": "vs_kernelbench", **machine(judge, settings), "cases": rows, **_totals(rows, each_s)}
    record |= {
        "kernelbench_eval_sha256": fingerprint(options.kernelbench_src),
        "lanes": options.lanes,
        "trials": options.trials,
    }
    write_record(options.record, record)
    show(record)
    if any(r["kernelbench"] is None for r in rows):
        return 2
    return int(not all(r["kernelbench"].get("correct") and r["ours_correct"] for r in rows))


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.set_defaults(lanes=4)
    made.add_argument("--kernelbench-src", type=Path, required=True, help="the `src` folder of a KernelBench checkout")
    made.add_argument("--only", help="comma list: kernels of tasks whose id contains one of them")
    made.add_argument("--deadline-s", type=float, default=560.0, help="end within so many seconds")
    made.add_argument("--trials", type=int, default=5, help="KernelBench's correctness trials")
    made.add_argument("--timings", type=int, default=100, help="KernelBench's timed calls")
    made.add_argument("--rounds", type=int, default=6, help="ours of all kernels with all lanes busy")
    made.add_argument("--gradings", type=int, default=3, help="ours per kernel; the median counts")
    return made.parse_args()


def code_of(case: Case) -> str:
    """The kernel of the mix, with products precise enough for both sides."""
    return case.code.replace(DOT, PRECISE_DOT)


def kernelbench(task: str, kernel: str, options: argparse.Namespace, end: float) -> dict[str, Any] | None:
    """What the other evaluator found and took, in a process of its own; None where the deadline left no time."""
    left_s = min(end - time.monotonic(), LIMIT_S)
    if left_s <= 0:
        return None
    order = {"task": task, "kernel": kernel, "trials": options.trials, "timings": options.timings}
    command = [sys.executable, "-m", "benchmarks.kernelbench_child", str(options.kernelbench_src)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", str(options.gpu))}
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            input=json.dumps(order),
            env=environment,
            capture_output=True,
            text=True,
            timeout=left_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    seconds = round(time.monotonic() - began, 2)
    if done.returncode != 0:
        return {"seconds": seconds, "error": done.stderr.strip()[-1000:].splitlines()[-1:]}
    return {"seconds": seconds, **json.loads(done.stdout.splitlines()[-1])}


def row(case: Case, theirs: dict[str, Any] | None, single: list[dict[str, Any]]) -> dict[str, Any]:
    """One kernel; `ratio` holds the other's evaluation, without its imports, against one grade of ours."""
    ours_s = statistics.median(one["seconds"] for one in single)
    evaluation_s = (theirs or {}).get("evaluation_s")
    return {
        "task": case.task_id,
        "kernelbench": theirs,
        "ours_s": round(ours_s, 2),
        "ours_correct": all(one["correct"] for one in single),
        "ours": single,
        "ratio": round(evaluation_s / ours_s, 1) if evaluation_s else None,
    }


def _totals(rows: list[dict[str, Any]], each_s: float) -> dict[str, Any]:
    """Means over the kernels that both evaluated: one grade at a time, and with all lanes busy."""
    both = [r for r in rows if r["ratio"] is not None]
    theirs_s = statistics.fmean(r["kernelbench"]["evaluation_s"] for r in both) if both else None
    return {
        "kernelbench_mean_s": round(theirs_s, 2) if theirs_s else None,
        "ours_mean_s": round(statistics.fmean(r["ours_s"] for r in both), 2) if both else None,
        "ours_saturated_s": round(each_s, 2),
        "ratio": round(theirs_s / statistics.fmean(r["ours_s"] for r in both), 1) if theirs_s else None,
        "ratio_saturated": round(theirs_s / each_s, 1) if theirs_s and len(both) == len(rows) else None,
    }


def fingerprint(source_dir: Path) -> str:
    """The SHA-256 of the evaluator's own file: a checkout may have come without its history."""
    return hashlib.sha256((source_dir / "kernelbench" / "eval.py").read_bytes()).hexdigest()


def show(record: dict[str, Any]) -> None:
    print(f"{record['gpu']}, torch {record['torch']}, {record['date']}; seconds per kernel")
    print(f"{'task':42} {'KernelBench':>11} {'import':>7} {'ours':>6} {'ratio':>6}")
    for case in record["cases"]:
        theirs = case["kernelbench"] or {}
        note = "" if theirs.get("correct") else f"  KernelBench: {theirs.get('error') or theirs.get('metadata')}"
        note += "" if case["ours_correct"] else f"  ours: {case['ours'][-1]['feedback']}"
        figures = (theirs.get("evaluation_s"), theirs.get("import_s"), case["ours_s"], case["ratio"])
        widths = zip(figures, (11, 7, 6, 6), strict=True)
        print(f"{case['task']:42} {' '.join(cell(f, w) for f, w in widths)}{note[:200]}")
    print(
        f"mean: {record['kernelbench_mean_s']} s against {record['ours_mean_s']} s, {record['ratio']} times; "
        f"all {record['lanes']} lanes busy: {record['ours_saturated_s']} s, {record['ratio_saturated']} times"
    )


def cell(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.1f}"


if __name__ == "__main__":
    sys.exit(main())
