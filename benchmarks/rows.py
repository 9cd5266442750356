"""`python -m benchmarks.rows`: what a forward takes in a row of them, by its process's claim and by the judge's clock.

Both as multiples of what single calls claim, for kernels of many sizes in one warm judge. `evaluator.judge.bound` takes
off as much of a row as an honest forward may take longer there.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.bare_gpu import about, options
from benchmarks.sized_tasks import SizedTask, write_tasks
from benchmarks.support import write_record
from evaluator.config import EvaluatorConfig
from evaluator.judge import timing
from evaluator.judge.bound import ROW_FACTOR, RowOf, Rows
from evaluator.judge.call import CheckedCall
from evaluator.judge.grade import Judge
from evaluator.limits import Limits
from evaluator.submission import Submission

TASKS = (
    SizedTask(921, "relu", 16, 1024),
    SizedTask(922, "relu", 256, 1024),
    SizedTask(923, "relu", 2048, 4096),
    SizedTask(924, "relu", 8192, 4096),
    SizedTask(925, "relu", 32768, 4096),
    SizedTask(926, "softmax", 4096, 16384),
    SizedTask(927, "matmul", 1024, 1024),
    SizedTask(928, "matmul", 2048, 2048),
)
GRADINGS = 3


def main() -> int:
    """Grade every task a few times, print one line for each grade."""
    asked = options(__doc__)
    with tempfile.TemporaryDirectory() as tasks_dir, tempfile.TemporaryDirectory() as state_dir:
        write_tasks(Path(tasks_dir), TASKS)
        judge = Judge(EvaluatorConfig("gpu", tasks_dir, state_dir, limits=Limits(timing_s=1.0)))
        try:
            rows = [graded(judge, task) for task in TASKS for _ in range(GRADINGS)]
        finally:
            judge.close()
    write_record(asked.record, about("rows") | {"row_factor": ROW_FACTOR, "grades": rows})
    show(rows)
    return 0 if all(row["correct"] for row in rows) else 1


def graded(judge: Judge, task: SizedTask) -> dict[str, Any]:
    """One grade of the task's kernel, and what its rows came to."""
    kept: list[tuple[str, int, CheckedCall]] = []
    bounds_ms: list[float | None] = []
    singles_ms: list[float] = []

    class KeptRows(Rows):
        def __init__(self, calls_max: int, claim_ms: float, run: RowOf, run_once: RowOf) -> None:
            singles_ms.append(claim_ms)
            super().__init__(calls_max, claim_ms, keeping("row", run), keeping("once", run_once))

        def bound_ms(self) -> float | None:
            bounds_ms.append(super().bound_ms())
            return bounds_ms[-1]

    def keeping(kind: str, run: RowOf) -> RowOf:
        def call(count: int, label: str) -> CheckedCall:
            kept.append((kind, count, run(count, label)))
            return kept[-1][2]

        return call

    with mock.patch.object(timing, "Rows", KeptRows):
        submission = Submission("rows", task.task_id, task.kernel, "triton", "00" * 32)
        report = judge.grade(submission, lambda phase: None)
    return {
        "task": task.task_id,
        "correct": report.correct,
        "feedback": "" if report.correct else report.feedback[:300],
        "single_ms": singles_ms[0] if singles_ms else None,
        "t_new_ms": report.timing.t_new_ms if report.timing else None,
        "claims_ms": [call.claim_ms / count for kind, count, call in kept if kind == "row"],
        "totals_ms": [bound_ms / ROW_FACTOR for bound_ms in bounds_ms if bound_ms is not None],
        "walls_ms": [call.wall_ms for kind, _, call in kept if kind == "row"],
        "around_ms": [call.wall_ms - call.claim_ms for kind, _, call in kept if kind == "once"],
        "calls": [count for kind, count, _ in kept if kind == "row"],
    }


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'task':34} {'calls':>5} {'single us':>9} {'claimed':>8} {'judged':>8}   times single; ms around a row")
    for row in rows:
        single_ms = row["single_ms"]
        if not row["claims_ms"] or single_ms is None:
            print(f"{row['task']:34} no rows {row['feedback'][:80]}")
            continue
        claimed = statistics.median(row["claims_ms"]) / single_ms
        judged = min(row["totals_ms"], default=0.0) / single_ms
        around = ", ".join(f"{ms:.2f}" for ms in sorted(row["around_ms"]))
        print(f"{row['task']:34} {row['calls'][-1]:5} {single_ms * 1e3:9.2f} {claimed:8.3f} {judged:8.3f}   {around}")


if __name__ == "__main__":
    sys.exit(main())
