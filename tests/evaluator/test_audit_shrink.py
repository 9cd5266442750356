"""Reduced sizes: the batch goes first, what belongs together goes together, and the task still runs."""

import pytest
import torch

from evaluator.audit.literals import literals, replaced
from evaluator.audit.shrink import cost, shrink
from evaluator.errors import GraderFault

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
NORM = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return self.norm(x)


batch, features = 4096, 1024 * 2


def get_inputs():
    return [torch.rand(batch, features)]


def get_init_inputs():
    return [features]
"""
)


def test_the_batch_goes_first_and_what_is_normalised_keeps_its_size() -> None:
    small = cost(shrink(NORM, "level1/1_N", 1e5), "level1/1_N")
    assert small.total <= 1e5
    assert small.input_shapes[0][1] == 2048
    assert small.input_shapes[0][0] <= 16


def test_equal_sizes_that_belong_together_are_divided_together() -> None:
    source = (
        HEAD
        + "class Model(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n\n\n"
        + "def get_inputs():\n    return [torch.rand(4096, 2048), torch.rand(2048, 4096)]\n\n\n"
        + "def get_init_inputs():\n    return []\n"
    )
    (a, b) = cost(shrink(source, "level1/1_M", 1e5), "level1/1_M").input_shapes
    assert a[1] == b[0] < 2048


def test_it_stays_as_large_as_the_model_needs() -> None:
    fixed = NORM.replace("self.norm = nn.LayerNorm(features)", "self.norm = nn.LayerNorm(2048)")
    small = shrink(fixed, "level1/1_N", 10)
    assert cost(small, "level1/1_N").input_shapes == ((16, 2048),)


def test_a_model_that_needs_values_is_tried_on_the_cpu() -> None:
    needs = NORM.replace("return self.norm(x)", "return self.norm(x) * x.max().item()").replace("4096", "64")
    assert "64" not in shrink(needs, "level1/1_N", 3e4).partition("get_inputs")[0].partition("batch, ")[2]


def test_a_task_that_does_not_run_is_a_fault() -> None:
    with pytest.raises(GraderFault, match="1_N"):
        shrink(NORM.replace("self.norm(x)", "self.nothing(x)"), "level1/1_N")


def test_literals_are_replaced_where_they_stand() -> None:
    source = (
        "é = 'ü'; n = 9 + 4\nm: int = 16\n\n\nclass A:\n    k = 99\n\n\ndef get_inputs():\n    return [32, 'x', True]\n"
    )
    found = literals(source)
    assert [literal.value for literal in found] == [9, 16, 32]
    expected = source.replace("9 + 4", "1 + 4").replace("int = 16", "int = 2").replace("[32", "[3")
    assert replaced(source, found, [1, 2, 3]) == expected


def test_no_memory_is_touched() -> None:
    huge = NORM.replace("4096", "1 << 40")
    before = torch.get_num_threads()
    assert cost(huge, "level1/1_N").input_shapes[0][0] == 1 << 40
    assert torch.get_num_threads() == before
