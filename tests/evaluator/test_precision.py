"""Rounding inside a kernel: fp32 and TF32 pass, bf16 does not, and fp16 fails where rows are scaled."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from evaluator.judge.compare import Mismatch, Tolerance, compare, relative_l2
from evaluator.judge.homogeneity import TRIAL_EXPONENT, is_homogeneous, row_scales, scale_first, scale_rows
from evaluator.judge.precision import ERROR_RATIO_MAX, error_ratio, finite, one_signed, random_signs
from evaluator.judge.reference import Reference

Values = list[torch.Tensor]
SEED = 11
TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(64, 48))
    def forward(self, {arguments}):
        return {result}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


def task(arguments: str, result: str, inputs: str) -> Reference:
    reference = Reference("level1/1_X", TASK.format(arguments=arguments, result=result, inputs=inputs), "cpu")
    reference.construct(SEED)
    return reference


MATMUL = task("a, b", "a @ b", "torch.rand(96, 256), torch.rand(256, 80)")
LINEAR = task("x", "x @ self.weight", "torch.rand(32, 64)")
GELU = task("x", "torch.nn.functional.gelu(x)", "torch.rand(64, 64)")
SCALED_SUM = task("x", "(x * 3).sum(dim=1)", "torch.rand(64, 64)")


def bf16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def fp16(x: torch.Tensor) -> torch.Tensor:
    return x.half().float()


def truncated(x: torch.Tensor) -> torch.Tensor:
    return (x.view(torch.int32) & -(1 << 13)).view(torch.float32)


def nearest(x: torch.Tensor) -> torch.Tensor:
    return truncated((x.view(torch.int32) + (1 << 12)).view(torch.float32))


def exact(x: torch.Tensor) -> torch.Tensor:
    return x


def ratio_of(reference: Reference, rounding: Callable[[torch.Tensor], torch.Tensor], flops: float) -> float:
    """The error ratio of a kernel that rounds inputs and weights on their way in."""
    inputs = random_signs(reference.inputs(SEED), SEED)
    expected = reference.forward(inputs, SEED)
    kept = reference.state()["weight"].clone()
    reference.state()["weight"].copy_(rounding(kept))
    found = reference.forward([rounding(value) for value in inputs], SEED)
    reference.state()["weight"].copy_(kept)
    return error_ratio(relative_l2(found, expected), reference, inputs, expected, SEED, flops)


@pytest.mark.parametrize("reference", [MATMUL, LINEAR], ids=["matmul", "linear"])
@pytest.mark.parametrize(("rounding", "passes"), [(exact, True), (nearest, True), (truncated, True), (bf16, False)])
def test_products_may_be_as_exact_as_tf32(reference: Reference, rounding: Any, passes: bool) -> None:
    assert (ratio_of(reference, rounding, flops=1e6) <= ERROR_RATIO_MAX) == passes


@pytest.mark.parametrize("reference", [GELU, SCALED_SUM], ids=["elementwise", "reduction"])
@pytest.mark.parametrize(("rounding", "passes"), [(exact, True), (bf16, False)])
def test_what_is_no_product_is_held_to_fp32(reference: Reference, rounding: Any, passes: bool) -> None:
    assert (ratio_of(reference, rounding, flops=0.0) <= ERROR_RATIO_MAX) == passes


def test_fp32_sums_in_another_order_pass() -> None:
    inputs = random_signs(MATMUL.inputs(SEED), SEED)
    expected = MATMUL.forward(inputs, SEED)
    order = torch.randperm(256)
    found = inputs[0][:, order] @ inputs[1][order]
    assert error_ratio(relative_l2(found, expected), MATMUL, inputs, expected, SEED, 1e6) <= ERROR_RATIO_MAX


def test_measuring_leaves_the_weights_as_they_were() -> None:
    before = LINEAR.state()["weight"].clone()
    ratio_of(LINEAR, bf16, flops=1e6)
    assert torch.equal(LINEAR.state()["weight"], before)


def test_signs_are_drawn_for_floating_point_alone() -> None:
    inputs = [torch.rand(1000), torch.arange(5), 3, torch.rand(10, dtype=torch.bfloat16)]
    signed = random_signs(inputs, SEED)
    assert torch.equal(signed[0].abs(), inputs[0])
    assert 400 < int((signed[0] < 0).sum()) < 600
    assert torch.equal(signed[1], inputs[1])
    assert signed[2] == 3
    assert signed[3].dtype == torch.bfloat16
    assert torch.equal(random_signs(inputs, SEED)[0], signed[0])
    assert one_signed(inputs)
    assert not one_signed(signed)
    assert not one_signed([torch.arange(5)])


def test_finite_looks_into_every_tensor() -> None:
    assert finite((torch.ones(2), {"a": torch.arange(3)}, 1.0))
    assert not finite([torch.ones(2), (torch.tensor([1.0, float("nan")]),)])


def homogeneous(reference: Reference) -> bool:
    inputs = reference.inputs(SEED)
    return is_homogeneous(reference, inputs, reference.forward(inputs, SEED), SEED)


@pytest.mark.parametrize(
    ("arguments", "result", "inputs", "answer"),
    [
        ("a, b", "a @ b", "torch.rand(8, 16), torch.rand(16, 4)", True),
        ("x", "torch.relu(x)", "torch.randn(8, 16)", True),
        ("x", "x @ self.weight", "torch.rand(32, 64)", True),
        ("x", "x / x.norm()", "torch.rand(8, 16)", False),
        ("x", "torch.softmax(x, 1)", "torch.rand(8, 16)", False),
        ("x", "x + 1", "torch.rand(8, 16)", False),
        ("x", "x.sum()", "torch.rand(8, 16)", False),
        ("x", "x.argmax(1)", "torch.rand(8, 16)", False),
        ("x", "(x, x)", "torch.rand(8, 16)", False),
        ("x", "x * 2", "torch.rand(8, 16).double()", False),
        ("x", "x.t().contiguous().t()[:1] @ x.t()", "torch.rand(8, 16)", False),
        ("n", "torch.ones(3) * n", "3", False),
    ],
)
def test_homogeneous_operators_are_found_by_trying(arguments: str, result: str, inputs: str, answer: bool) -> None:
    assert homogeneous(task(arguments, result, inputs)) is answer


def scaled_passes(rounding: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """The trial with scaled rows, on the matmul, with the scales taken out again before comparing."""
    inputs = MATMUL.inputs(SEED)
    scales = row_scales(inputs, SEED, TRIAL_EXPONENT)
    scaled = scale_first(inputs, scales)
    expected = scale_rows(MATMUL.forward(scaled, SEED), 1 / scales)
    found = scale_rows(rounding(scaled[0]) @ rounding(scaled[1]), 1 / scales)
    try:
        compare(found, expected, Tolerance(1e-2, 1e-2))
    except Mismatch:
        return False
    return True


@pytest.mark.parametrize(("rounding", "passes"), [(exact, True), (truncated, True), (fp16, False)])
def test_rows_scaled_by_powers_of_two_do_not_fit_into_fp16(rounding: Any, passes: bool) -> None:
    assert scaled_passes(rounding) is passes


def test_scales_are_powers_of_two_both_ways_and_exact() -> None:
    inputs = [torch.rand(500, 3, 2), "other"]
    scales = row_scales(inputs, SEED, TRIAL_EXPONENT)
    assert torch.equal(torch.log2(scales), torch.log2(scales).round())
    assert scales.min() == 2**-TRIAL_EXPONENT
    assert scales.max() == 2**TRIAL_EXPONENT
    back = scale_rows(scale_first(inputs, scales)[0], 1 / scales)
    assert torch.equal(back, inputs[0])
    assert scale_first(inputs, scales)[1] == "other"
