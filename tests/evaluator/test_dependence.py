"""What of its inputs a right kernel has to read: found out by changing single elements."""

import pytest
import torch

from evaluator.judge.compare import Tolerance
from evaluator.judge.dependence import BUDGET_S, required_bytes
from evaluator.judge.reference import Reference

TOLERANCE = Tolerance(1e-2, 1e-2)
TASK = """import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, {names}):
        return {output}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
N = 64
MATRIX = f"torch.rand({N}, {N})"
ALL = N * N * 4


def required(output: str, *inputs: str, budget_s: float = 60.0, device: str = "cpu") -> int:
    names = ", ".join("abc"[: len(inputs)])
    source = TASK.format(names=names, output=output, inputs=", ".join(inputs))
    return required_bytes(Reference("level1/1_Made_up", source, device), TOLERANCE, 1, 2, budget_s)


@pytest.mark.parametrize(
    ("output", "inputs", "expected"),
    [
        ("torch.relu(a)", [MATRIX], ALL),
        ("a @ b", [MATRIX, MATRIX], 2 * ALL),
        ("a.unsqueeze(1) * b", [f"torch.rand({N})", MATRIX], ALL + N * 4),
        ("torch.softmax(a, dim=1)", [MATRIX], ALL),
        ("a.mean()", [MATRIX], ALL),
        ("torch.max_pool2d(a[None, None], 2)", [MATRIX], ALL),
        ("torch.nn.functional.dropout(a, 0.0) + 1", [MATRIX], ALL),
        ("(a @ b.sum(dim=0)).sum()", [MATRIX, MATRIX], 2 * ALL),
        ("torch.cumsum(a, dim=1).double()", [MATRIX], ALL),
        ("torch.argmax(a, dim=1)", [MATRIX], ALL),
    ],
)
def test_what_matters_counts(output: str, inputs: list[str], expected: int) -> None:
    assert required(output, *inputs) == expected


@pytest.mark.parametrize(
    ("output", "inputs"),
    [
        ("a[:, -1].clone()", [MATRIX]),
        ("a[::2, ::2].clone()", [MATRIX]),
        ("torch.zeros_like(a)", [MATRIX]),
        ("a.sum(dim=1, keepdim=True) - a.sum(dim=1, keepdim=True).mean(dim=1, keepdim=True)", [MATRIX]),
        ("torch.softmax(a.sum(dim=1, keepdim=True), dim=1)", [MATRIX]),
        ("a.T", [MATRIX]),
        ("a.mul_(2)", [MATRIX]),
        ("a / 0", [MATRIX]),
        ("a * 2", ["torch.ones(64, 64)"]),
        ("a * 2", ["torch.ones(0, 64)"]),
        ("a * 2", ["torch.zeros(torch.randint(1, 64, ()).item(), 64)"]),
    ],
)
def test_what_a_right_kernel_may_leave_out_does_not_count(output: str, inputs: list[str]) -> None:
    assert required(output, *inputs) == 0


def test_of_a_triangle_only_what_is_drawn_counts() -> None:
    triangle = f"torch.triu({MATRIX})"
    assert required("torch.triu(a @ b)", triangle, triangle) == 2 * N * (N + 1) // 2 * 4


def test_an_input_without_influence_is_left_out_and_the_others_count() -> None:
    assert required("a + 0 * b.sum()", MATRIX, MATRIX) == ALL


def test_labels_count_as_far_as_two_draws_tell_them_apart() -> None:
    labels = f"torch.randint(0, {N}, ({N},))"
    found = required("torch.nn.functional.cross_entropy(10 * a, b, reduction='none')", MATRIX, labels)
    assert ALL < found <= ALL + N * 8


def test_what_is_not_shown_in_time_does_not_count() -> None:
    assert required("a @ b", MATRIX, MATRIX, budget_s=0.0) == 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    ("output", "inputs", "expected"),
    [
        ("torch.relu(a)", ["torch.rand(4096, 98304)"], 4096 * 98304 * 4),
        ("a @ b", ["torch.rand(4096, 4096)"] * 2, 2 * 4096 * 4096 * 4),
        ("torch.triu(a @ b)", ["torch.triu(torch.rand(4096, 4096))"] * 2, 4096 * 4097 * 4),
        ("torch.softmax(a, dim=1)", ["torch.rand(786432, 512)"], 786432 * 512 * 4),
    ],
)
def test_large_inputs_of_a_gpu_are_looked_into_in_time(output: str, inputs: list[str], expected: int) -> None:
    found = required(output, *inputs, budget_s=BUDGET_S, device="cuda")
    assert found == pytest.approx(expected, rel=1e-6)  # two draws may agree in a few of so many
