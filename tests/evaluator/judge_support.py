"""A warm judge for tests, small tasks for it, and candidates made from one right kernel by one edit each."""

import re
import shutil
from pathlib import Path

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.limits import Limits
from evaluator.report import Report
from evaluator.submission import Language, Submission

ROOT = Path(__file__).parents[2]
HONEST = ROOT / "tests" / "honest" / "triton"
RELU = "level1/19_ReLU"
# the interpreter takes tens of ms for a task of this size
SMALL = {
    RELU: {"batch_size": 16, "dim": 128},
    "level1/23_Softmax": {"batch_size": 16, "dim": 200},
    "level1/1_Square_matrix_multiplication_": {"N": 48},
    "level1/40_LayerNorm": {"batch_size": 2, "features": 4, "height": 6, "width": 7},
    "level1/51_Argmax_over_a_dimension": {"batch_size": 2, "rows": 10, "columns": 20},
    "level2/76_Gemm_Add_ReLU": {"batch_size": 20, "in_features": 35, "out_features": 25},
    "level3/1_MLP": {"batch_size": 10, "in_features": 35, "hidden": [25, 20], "out_features": 15},
}
LIMITS = Limits(first_call_s=60.0, call_s=30.0, cpu_timing_s=0.05, timing_pairs_max=3)

KERNEL = """\
import os
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)


# module


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""


def edited(**edits: str) -> str:
    """The right ReLU with one place changed: `module`, `init`, `before`, `after`, `result` or `kernel` of it."""
    code = KERNEL
    places = {
        "module": ("# module\n", "{}\n"),
        "init": ("        self.calls = 0\n", "        self.calls = 0\n        {}\n"),
        "before": ("        y = torch.empty_like(x)\n", "        {}\n        y = torch.empty_like(x)\n"),
        "after": ("        return y\n", "        {}\n        return y\n"),
        "result": ("        return y\n", "        return {}\n"),
        "kernel": ("tl.maximum(tl.load(x + i, mask=i < n), 0.0)", "{}"),
    }
    for place, text in edits.items():
        old, new = places[place]
        assert code.count(old) == 1
        code = code.replace(old, new.replace("{}", text))
    return code


def line_of(code: str, text: str) -> int:
    """The number of the only line that holds `text`."""
    (number,) = [number for number, line in enumerate(code.split("\n"), 1) if text in line]
    return number


def write_tasks(folder: Path) -> Path:
    """Our own tasks at sizes that are smaller still."""
    for task_id, sizes in SMALL.items():
        source = (ROOT / "kernelbench_tasks" / f"{task_id}.py").read_text()
        changed, count = re.subn(r"^CPU_SIZES = .*$", f"CPU_SIZES = {sizes!r}", source, flags=re.MULTILINE)
        assert count == 1
        path = folder / f"{task_id}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed)
    shutil.copy(ROOT / "kernelbench_tasks" / "audit.json", folder)
    return folder


class WarmJudge:
    """A judge process with a client, for one test module or more."""

    def __init__(self, folder: Path, **config: object) -> None:
        settings = {"limits": LIMITS, **config}
        self.config = EvaluatorConfig("cpu", str(write_tasks(folder / "tasks")), str(folder / "state"), **settings)  # type: ignore[arg-type]
        self.process = JudgeProcess(self.config)
        self.process.start()
        self.client = self.new_client()
        self.phases: list[str] = []

    def new_client(self) -> JudgeClient:
        return JudgeClient(self.process.socket_path, self.config)

    def submission(
        self, code: str, task_id: str = RELU, language: Language = "triton", seed_key: str = "0011"
    ) -> Submission:
        return Submission("sub_test", task_id, code, language, seed_key)

    def grade(self, code: str, task_id: str = RELU, language: Language = "triton", seed_key: str = "0011") -> Report:
        self.phases = []
        return self.client.evaluate(self.submission(code, task_id, language, seed_key), self.phases.append)

    def close(self) -> None:
        self.client.close()
        self.process.close()
