"""Where algebra or structure saves work that the reference does, an honest kernel at its own limit must pass."""

from dataclasses import dataclass, replace

import pytest
import torch

from evaluator.judge.compare import Tolerance
from evaluator.judge.dependence import Dependence
from evaluator.judge.reference import Reference
from evaluator.judge.verdict import judgement
from evaluator.judge.work import count_work
from evaluator.limits import Limits
from evaluator.report import Report, Timing
from evaluator.roofline.model import Work
from evaluator.roofline.peaks import Peaks
from evaluator.verdicts import Verdict

N = 128
# Slow enough for a small task's bytes and FLOPs both to take a while, and without a cache.
SLOW = Peaks("made up", dict.fromkeys(("fp64", "fp32", "tf32", "bf16", "fp16"), 1e-5), 1e-3, 0.0, "a test")
WEIGHT = f"self.weight = nn.Parameter(torch.randn({N}, {N}))"
MODEL = """import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {weight}

    def forward(self, {names}):
        return {output}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
MATRIX = f"torch.rand({N}, {N})"


@dataclass(frozen=True)
class Honest:
    """A task, and what the best honest kernel for it moves and computes; bytes of the weights where it reads them."""

    task_id: str
    inputs: tuple[str, ...]
    output: str
    moved_bytes: float
    flops: float

    def work(self) -> Work:
        names = ", ".join("ab"[: len(self.inputs)])
        weight = WEIGHT if "self.weight" in self.output else ""
        source = MODEL.format(weight=weight, names=names, output=self.output, inputs=", ".join(self.inputs))
        reference = Reference(self.task_id, source, "cpu")
        reference.construct(3)
        work, _ = count_work(reference, reference.inputs(3), 3)
        return Dependence().complete(work, reference, Tolerance(1e-2, 1e-2))

    def best_ms(self) -> float:
        memory_s = self.moved_bytes / (SLOW.bandwidth_gb_s * 1e9)
        return max(memory_s, self.flops / (SLOW.tflops["tf32"] * 1e12)) * 1e3


SQUARE = N * N * 4
HALF = N * (N + 1) // 2 * 4
TASKS = (
    Honest("level1/12_Matmul_with_diagonal_matrices_", (f"torch.rand({N})", MATRIX), "torch.diag(a) @ b",
           2 * SQUARE + N * 4, 0.0),
    Honest("level1/14_Matmul_for_upper_triangular_matrices", (f"torch.triu({MATRIX})",) * 2, "torch.triu(a @ b)",
           2 * HALF + SQUARE, N**3 / 3),
    Honest("level1/15_Matmul_for_lower_triangular_matrices", (f"torch.tril({MATRIX})",) * 2, "torch.tril(a @ b)",
           2 * HALF + SQUARE, N**3 / 3),
    # the sum over a product's columns needs the weights' sums alone, which are made when the model is
    Honest("level2/14_Gemm_Divide_Sum_Scaling", (MATRIX,), "(a @ self.weight.T / 2).sum(dim=1, keepdim=True) * 1.5",
           SQUARE + 2 * N * 4, 2 * N * N),
    Honest("level1/1_Square_matrix_multiplication_", (MATRIX, MATRIX), "a @ b", 3 * SQUARE, 2 * N**3),
)  # fmt: skip
IDS = [task.task_id for task in TASKS]


def judged(work: Work, t_new_ms: float) -> Report:
    speedup = 10 * t_new_ms / t_new_ms
    return judgement(work, Timing(10 * t_new_ms, t_new_ms, speedup, (speedup, speedup), 5), SLOW, Limits())


@pytest.mark.parametrize("task", TASKS, ids=IDS)
def test_an_honest_kernel_at_its_own_limit_is_accepted(task: Honest) -> None:
    assert judged(task.work(), task.best_ms()).verdict is Verdict.CORRECT


@pytest.mark.parametrize("task", TASKS, ids=IDS)
def test_a_time_below_the_bytes_that_it_must_move_is_refused(task: Honest) -> None:
    memory_ms = task.moved_bytes / (SLOW.bandwidth_gb_s * 1e9) * 1e3
    report = judged(task.work(), 0.75 * memory_ms)
    assert report.roofline_violation
    assert "cannot have been done" in report.feedback


@pytest.mark.parametrize("task", TASKS, ids=IDS)
def test_a_floor_of_all_bytes_and_flops_would_refuse_honest_work(task: Honest) -> None:
    everything = replace(task.work(), required_bytes=None, flops_necessary=True)
    dense = task is TASKS[-1]
    assert judged(everything, task.best_ms()).roofline_violation is not dense


def test_a_task_is_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known, made = (
        Dependence(),
        Reference("level1/9_Made", MODEL.format(weight="", names="a", output="a", inputs=MATRIX), "cpu"),
    )
    work = Work(0.0, 1, 1, 1, "float32")
    calls = []

    def out_of_memory(*_: object) -> int:
        calls.append(1)
        if len(calls) == 1:
            raise torch.OutOfMemoryError("no room")
        return 7

    monkeypatch.setattr("evaluator.judge.dependence.required_bytes", out_of_memory)
    found = [known.complete(work, made, Tolerance(1e-2, 1e-2)).required_bytes for _ in range(3)]
    assert (found, len(calls)) == ([0, 7, 7], 2)
