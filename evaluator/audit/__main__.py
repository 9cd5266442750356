"""`python -m evaluator.audit [TASKS]`: try trivial and honest answers on tasks, and write down what has to change."""

import argparse
import fnmatch
import sys
import time
from pathlib import Path
from typing import cast

import torch

from evaluator.audit.audit import audit_task
from evaluator.audit.report import markdown
from evaluator.errors import GraderFault
from evaluator.limits import Limits
from evaluator.shards import add_shard_option
from evaluator.tasks import Catalogue, Task
from evaluator.tasks.audits import AUDIT_FILE, Audit
from evaluator.tasks.audits.store import read_audits, write_audits
from evaluator.tasks.task import Device

DEVICES: dict[str, Device] = {"cpu": "cpu", "gpu": "cuda"}


def main() -> int:
    """Exit code 0 where every task passes, 1 where one does not."""
    options = _options()
    catalogue = Catalogue(options.tasks_dir)
    tasks = options.shard.of([task for task in catalogue if not task.problems and _is_chosen(task, options)])
    file = options.out / AUDIT_FILE
    known = {audit.sha256: audit for audit in (read_audits(file) if file.exists() else ())}
    if DEVICES[options.device] == "cpu":
        torch.set_num_threads(options.threads)
    end = time.monotonic() + options.deadline_s
    for task in tasks:
        if options.again or task.sha256 not in known:
            if time.monotonic() > end:
                break
            try:
                known[task.sha256] = _audited(task, options)
            except torch.OutOfMemoryError:
                print(f"        -  {task.task_id}  does not fit into this device's memory", flush=True)
                torch.cuda.empty_cache()
                continue
            write_audits(file, known.values())
    found = [known[task.sha256] for task in tasks if task.sha256 in known]
    (options.out / "audit.md").write_text(markdown(found))
    print(
        f"{len(found)} of {len(tasks)} tasks audited, {sum(a.passed for a in found)} pass; see {options.out}/audit.md"
    )
    return 0 if all(audit.passed for audit in found) and len(found) == len(tasks) else 1


def _options() -> argparse.Namespace:
    made = argparse.ArgumentParser(prog="python -m evaluator.audit", description=__doc__)
    made.add_argument("tasks", nargs="*", default=["*"], help="ids or patterns such as 'level1/2*'; default: all")
    made.add_argument("--device", choices=DEVICES, default="cpu", help="cpu: at reduced sizes; gpu: at full size")
    made.add_argument("--out", type=Path, default=Path("audit"), help=f"folder for {AUDIT_FILE} and audit.md")
    made.add_argument("--tasks-dir", default=str(Path(__file__).parents[2] / "kernelbench_tasks"))
    made.add_argument("--again", action="store_true", help=f"also what {AUDIT_FILE} has of the same text")
    made.add_argument("--compile", action="store_true", help="hold torch.compile to be an honest answer as well")
    made.add_argument("--threads", type=int, default=1, help="of torch on the CPU")
    add_shard_option(made)
    made.add_argument("--deadline-s", type=float, default=float("inf"), help="no task is begun after that")
    return made.parse_args()


def _is_chosen(task: Task, options: argparse.Namespace) -> bool:
    return any(fnmatch.fnmatchcase(task.task_id, pattern) for pattern in options.tasks)


def _audited(task: Task, options: argparse.Namespace) -> Audit:
    began = time.monotonic()
    device = DEVICES[options.device]
    try:
        audit = audit_task(task, cast(str, device), Limits().tolerance, compiled=options.compile)
    except GraderFault as fault:
        raise SystemExit(f"{task.task_id}: {fault}") from fault
    said = "passes" if audit.passed else f"FAILS: {'; '.join(audit.failures)}"
    print(f"{time.monotonic() - began:6.1f} s  {task.task_id}  {said}", flush=True)
    return audit


if __name__ == "__main__":
    sys.exit(main())
