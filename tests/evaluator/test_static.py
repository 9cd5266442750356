"""Each static rule on what it is for, and on what only looks like it."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from evaluator.static import Finding, check, render

HONEST = '''
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
'''  # fmt: skip

CUDA = '''
import torch
from torch.utils.cpp_extension import load_inline
SOURCE = """
__global__ void k(float* x) { x[0] = 1; }
torch::Tensor run(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }
"""
extension = load_inline(name="e", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE,
                        functions=["run"], verbose=True, extra_cuda_cflags=["-O3", "--use_fast_math"], with_cuda=True)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.run(x)
'''  # fmt: skip


def cases(name: str) -> list[Any]:
    """The blocks of a data file: a line `### title`, then source text."""
    text = (Path(__file__).parent / "static_cases" / f"{name}.txt").read_text()
    blocks = [block.partition("\n") for block in text.split("### ")[1:]]
    return [pytest.param(title, source, id=f"{title}-{number}") for number, (title, _, source) in enumerate(blocks)]


def errors(code: str, language: str = "triton") -> list[Finding]:
    return [found for found in check(textwrap.dedent(code), language) if found.severity == "error"]


def rules(extra: str, language: str = "triton") -> set[str]:
    """Ids of the errors that `extra` adds to an honest source."""
    base = HONEST if language == "triton" else CUDA
    if "ModelNew" in extra.replace("ModelNew()", ""):
        base = base.replace("ModelNew", "Unused")
    return {found.rule for found in errors(base + textwrap.dedent(extra), language)}


@pytest.mark.parametrize(("rule", "extra"), cases("refused"))
def test_refused(rule: str, extra: str) -> None:
    assert rule in rules(extra)


@pytest.mark.parametrize(("title", "extra"), cases("accepted"))
def test_accepted(title: str, extra: str) -> None:
    assert rules(extra) == set(), title


@pytest.mark.parametrize(
    ("extra", "rule"),
    [
        ("import os, time, sys", "useless-import"),
        ("import subprocess", "useless-import"),
        ("torch.backends.cudnn.allow_tf32 = True", "settings"),
    ],
)
def test_useless_things_only_warn(extra: str, rule: str) -> None:
    found = check(HONEST + extra, "triton")
    assert [(finding.rule, finding.severity) for finding in found] == [(rule, "warning")]


@pytest.mark.parametrize(("title", "source"), cases("triton_kernels"))
def test_every_way_to_make_and_launch_a_triton_kernel(title: str, source: str) -> None:
    assert errors(source + "\nclass ModelNew: pass\n") == [], title


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("import triton\nclass ModelNew: pass", "no-kernel"),
        ("# @triton.jit\nclass ModelNew: '''@triton.jit'''", "no-kernel"),
        ("def jit(f): return f\n@jit\ndef k(): pass\nk()\nclass ModelNew: pass", "no-kernel"),
        ("import numba as triton\n@triton.jit\ndef k(): pass\nk()\nclass ModelNew: pass", "no-kernel"),
        ("import triton\n@triton.jit\ndef k(): pass\nclass ModelNew: pass", "not-launched"),
        ("import triton\n@triton.jit\ndef k(): k()\nclass ModelNew: pass", "not-launched"),
    ],
)
def test_no_triton_kernel(source: str, rule: str) -> None:
    assert [found.rule for found in errors(source)] == [rule]


@pytest.mark.parametrize(("title", "loader"), cases("cuda_loaders"))
def test_every_way_to_load_a_cuda_extension(title: str, loader: str) -> None:
    source = 'S = "#define G __global__\\nG void k(); k<<<1, 1>>>();"\n' + loader + "\nclass ModelNew: pass\n"
    assert errors(source, "cuda") == [], title


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("__global__ void k(float* x) { x[0] = 1; }", "// __global__ void k()", "no-kernel"),
        ("__global__ void k(float* x) { x[0] = 1; }", 'const char* s = "__global__";', "no-kernel"),
        ("k<<<1, 1>>>(x.data_ptr<float>());", "/* k<<<1, 1>>>(); */", "not-launched"),
        ("from torch.utils.cpp_extension import load_inline", "from mine import load_inline", "no-kernel"),
    ],
)
def test_no_cuda_kernel(old: str, new: str, rule: str) -> None:
    assert old in CUDA
    assert [found.rule for found in errors(CUDA.replace(old, new), "cuda")] == [rule]


def test_honest_sources_have_no_finding() -> None:
    assert check(HONEST, "triton") == []
    assert check(CUDA, "cuda") == []


@pytest.mark.parametrize(
    "model",
    [
        "if True:\n    class ModelNew(torch.nn.Module): pass",
        "ModelNew = type('ModelNew', (torch.nn.Module,), {})",
        "try:\n    class ModelNew: pass\nfinally:\n    pass",
    ],
)
def test_ways_to_define_the_model(model: str) -> None:
    assert errors(HONEST.replace("ModelNew", "Other") + model) == []


def test_no_model() -> None:
    assert [found.rule for found in errors(HONEST.replace("ModelNew", "Other"))] == ["no-model-new"]


def test_findings_carry_line_and_remedy_and_read_well() -> None:
    found = check(HONEST + "import os\nos.system('ls')\n", "triton")
    text = render(found)
    line = HONEST.count("\n") + 2
    assert [(finding.rule, finding.line) for finding in found] == [("process", line), ("useless-import", line - 1)]
    assert f"- line {line}: os.system" in text
    assert "[process]. Do the work" in text
    assert text.index("refused") < text.index("Warnings")


def test_render_is_short_whatever_is_found() -> None:
    found = [Finding("r", line, "m" * 5000, "do", "error") for line in range(500)]
    assert len(render(found)) < 8 * 1024
    assert "and 480 more" in render(found)
    assert render([]) == ""


def test_one_rule_names_a_few_lines_only() -> None:
    assert len(errors(HONEST + "open('x')\n" * 1000)) == 5
