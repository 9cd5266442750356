"""What sort of task a text is."""

import pytest

from evaluator.static.syntax import parse
from evaluator.tasks.kinds import Kind, kind_of

BODY = """{imports}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        return {forward}

def get_inputs():
    return [torch.rand(8, 8){dtype}]

def get_init_inputs():
    return []
"""


def kind(
    forward: str, init: str = "pass", imports: str = "import torch\nimport torch.nn as nn", dtype: str = ""
) -> Kind:
    return kind_of(parse(BODY.format(imports=imports, init=init, forward=forward, dtype=dtype)))


@pytest.mark.parametrize(
    ("forward", "init", "operators"),
    [
        ("torch.relu(x)", "pass", ("relu",)),
        ("nn.functional.gelu(x @ x.T)", "pass", ("gelu", "matmul")),
        ("self.conv(x) * 2", "self.conv = nn.Conv2d(1, 2, 3)", ("conv2d", "mul")),
        ("torch.nn.functional.softmax(x, dim=1).sum()", "pass", ("softmax", "sum")),
        ("x", "self.w = nn.Parameter(torch.zeros(3)); nn.init.normal_(self.w)", ()),
    ],
)
def test_operators(forward: str, init: str, operators: tuple[str, ...]) -> None:
    assert kind(forward, init).operators == operators


@pytest.mark.parametrize(
    ("init", "has"),
    [
        ("self.l = nn.Linear(3, 4)", True),
        ("self.w = nn.Parameter(torch.ones(2))", True),
        ("self.n = nn.BatchNorm2d(3)", True),
        ("self.r = nn.GRU(3, 4)", True),
        ("self.s = nn.Softmax(dim=1)", False),
        ("self.n = torch.norm(torch.ones(3))", False),
    ],
)
def test_parameters(init: str, *, has: bool) -> None:
    assert kind("x", init).parameters is has


@pytest.mark.parametrize(
    ("forward", "init", "random"),
    [
        ("self.d(x)", "self.d = nn.Dropout(0.5)", True),
        ("x + torch.randn(3)", "pass", True),
        ("x + self.b", "self.b = nn.Parameter(torch.randn(3))", False),
        ("torch.relu(x)", "pass", False),
    ],
)
def test_only_what_forward_draws_is_random(forward: str, init: str, *, random: bool) -> None:
    assert kind(forward, init).random is random


def test_dtypes() -> None:
    assert kind("x").dtypes == ("float32",)
    assert kind("x", dtype=".to(torch.float16)").dtypes == ("float16", "float32")
    assert kind("x.half()").dtypes == ("float16", "float32")
    assert kind("x", dtype=" > 0.5, torch.ones(3, dtype=torch.bool)").dtypes == ("bool", "float32")


@pytest.mark.parametrize(
    "imports",
    [
        "import torch\nfrom torch import nn\nfrom torch.nn.functional import relu",
        "import torch\nimport torch.nn as nn\nfrom torch import relu",
    ],
)
def test_names_are_resolved(imports: str) -> None:
    assert kind("relu(x)", imports=imports).operators == ("relu",)


def test_other_libraries_and_own_functions_are_no_operators() -> None:
    assert kind("mine(math.sqrt(2.0), x)", imports="import torch, math\nimport torch.nn as nn").operators == ()
