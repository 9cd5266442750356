"""`python -m benchmarks.less_work`: honest kernels that do less than their reference, graded by the whole judge.

Algebra, structure or folded weights let them beat what the reference has to do. None of them may be refused as faster
than the device: a floor is a bound for every right kernel, or it punishes good ones.
"""

import secrets
import sys
from pathlib import Path
from typing import Any

from benchmarks.support import KERNELS, machine, parser, warm_judge, write_record
from evaluator.client import JudgeClient
from evaluator.submission import Submission
from evaluator.tasks import Catalogue

HONEST = Path(__file__).parents[1] / "tests" / "honest" / "triton"
CASES = (
    ("level1/12_Matmul_with_diagonal_matrices_", HONEST / "diagonal_scales_rows.py"),
    ("level1/14_Matmul_for_upper_triangular_matrices", KERNELS / "triton" / "upper_triangular.py"),
    ("level1/15_Matmul_for_lower_triangular_matrices", HONEST / "triangular_skips_tiles.py"),
    ("level2/14_Gemm_Divide_Sum_Scaling", HONEST / "gemm_sum_by_algebra.py"),
    ("level2/14_Gemm_Divide_Sum_Scaling", KERNELS / "triton" / "folded_sum.py"),
)


def main() -> int:
    """Exit code 0 if all are correct, 1 if one is not, 2 if the task set lacks one of the tasks."""
    options = parser(__doc__).parse_args()
    known = {task.task_id for task in Catalogue(options.tasks_dir)}
    rows = []
    with warm_judge(options) as (judge, settings):
        client = JudgeClient(judge.socket_path, settings)
        for task_id, file in CASES:
            if task_id not in known:
                rows.append({"task": task_id, "kernel": file.name, "verdict": None})
                continue
            submission = Submission("less-work", task_id, file.read_text(), "triton", secrets.token_hex(32))
            report = client.evaluate(submission, lambda phase: None)
            rows.append({"task": task_id, "kernel": file.name, "verdict": str(report.verdict), **report.result()})
        client.close()
        record = {"benchmark": "less_work", **machine(judge, settings), "cases": rows}
    write_record(options.record, record)
    for row in rows:
        print(line(row))
    verdicts = {row["verdict"] for row in rows}
    return 1 if verdicts - {"correct", None} else 2 if None in verdicts else 0


def line(row: dict[str, Any]) -> str:
    name = f"{row['task']} {row['kernel']}"
    if row["verdict"] is None:
        return f"{name:75} not in this task set"
    if row["t_new_ms"] is None:
        return f"{name:75} {row['verdict']}: {row['feedback'][:200]}"
    shares = "" if row["t_min_ms"] is None else f", t_min {row['t_min_ms']:.4g} ms"
    mark = " suspicious" if row["suspicious"] else ""
    return f"{name:75} {row['verdict']}: {row['t_new_ms']:.4g} ms, {row['speedup']:.3g} times{shares}{mark}"


if __name__ == "__main__":
    sys.exit(main())
