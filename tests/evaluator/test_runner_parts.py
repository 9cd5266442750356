"""What a runner does with a candidate: weights by name, results found or copied, faults told by the source's lines."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from triton.compiler.errors import CompilationError

from evaluator.runner.attach import Segment
from evaluator.runner.candidate import MAX_TEXT, CandidateFault, faults, load
from evaluator.runner.devices import CpuDevice, Lead
from evaluator.runner.guard import GuardViolation
from evaluator.runner.weights import construct, split_init
from evaluator.tensorspec import TensorSpec

NAME = "candidate_under_test"


@pytest.mark.parametrize(
    ("init", "arguments", "keywords"),
    [
        ([], [], {}),
        ((3, 4), [3, 4], {}),
        ({"n": 3}, [], {"n": 3}),
        ([[1, 2], {"n": 3}], [1, 2], {"n": 3}),
        ([(1,), {}], [1], {}),
        ([1, {"n": 3}], [1, {"n": 3}], {}),
        ([[1, 2], [3]], [[1, 2], [3]], {}),
        ([[1, 2]], [[1, 2]], {}),
    ],
)
def test_every_form_of_init_inputs(init: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
    assert split_init(init) == (arguments, keywords)


class Mine(torch.nn.Module):
    """Weights in an order of its own; one of another shape, one of another type, one of its own name."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.extra = torch.nn.Parameter(torch.rand(2))
        self.bias = torch.nn.Parameter(torch.rand(size))
        self.weight = torch.nn.Parameter(torch.rand(size, size))
        self.other = torch.nn.Parameter(torch.rand(size + 1))
        self.narrow = torch.nn.Parameter(torch.rand(size).half())
        self.register_buffer("mean", torch.zeros(size))


def test_weights_are_matched_by_name_shape_and_type() -> None:
    given = {
        "weight": torch.rand(3, 3), "bias": torch.rand(3), "mean": torch.rand(3),
        "other": torch.rand(3), "narrow": torch.rand(3), "missing.weight": torch.rand(1),
    }  # fmt: skip
    model, unmatched = construct(Mine, [3], given, seed=5, device="cpu")
    assert unmatched == ["other", "narrow", "missing.weight"]
    for name in ("weight", "bias", "mean"):
        assert torch.equal(getattr(model, name), given[name])
        assert getattr(model, name).data_ptr() != given[name].data_ptr()


def test_the_seed_decides_what_the_constructor_draws() -> None:
    first, second, other = (construct(Mine, [3], {}, seed=seed, device="cpu")[0] for seed in (5, 5, 6))
    assert torch.equal(first.weight, second.weight)
    assert not torch.equal(first.weight, other.weight)


@pytest.fixture
def segments() -> dict[str, Segment]:
    made = {}
    for name, size in (("exchange", 1024), ("arena", 8192)):
        tensor = torch.zeros(size, dtype=torch.uint8)
        made[name] = Segment(tensor, tensor.data_ptr(), None)
    return made


def placed(segments: dict[str, Segment], out: Any) -> dict[int, TensorSpec]:
    ran = CpuDevice(segments["arena"], segments["exchange"]).timed([lambda: out], Lead())
    assert ran.outs[0] is out
    assert ran.elapsed_ms >= 0
    return ran.specs


def test_results_are_copied_side_by_side(segments: dict[str, Segment]) -> None:
    tensors = [torch.rand(5, 7), torch.rand(3).double(), torch.tensor(4), torch.empty(0, 3), torch.rand(4, 6).t()]
    out = (tensors[0], [tensors[1], {"a": tensors[2], "b": (tensors[3],)}], tensors[4], 3, None, "x")
    specs = placed(segments, out)
    for tensor in tensors:
        spec = specs[id(tensor)]
        assert spec.segment == "arena"
        assert torch.equal(segments["arena"].view(spec), tensor)
    spans = sorted((spec.offset, spec.offset + spec.extent_bytes) for spec in specs.values())
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_what_lies_in_a_segment_stays_there(segments: dict[str, Segment]) -> None:
    whole = segments["arena"].bytes[512:1024].view(torch.float32).view(8, 16)
    part, column = whole[2:4], whole[:, 3]
    given = segments["exchange"].bytes[0:64].view(torch.float32)
    outside = torch.rand(4)
    specs = placed(segments, [part, column, given, outside, given])
    assert (specs[id(part)].offset, specs[id(part)].stride) == (512 + 2 * 64, (16, 1))
    assert (specs[id(column)].offset, specs[id(column)].shape, specs[id(column)].stride) == (512 + 12, (8,), (16,))
    assert specs[id(given)].segment == "exchange"
    assert specs[id(outside)].offset >= 1024


@pytest.mark.parametrize(
    ("out", "says"),
    [
        (torch.zeros(3000), r"forward returned float32\[3000\]: more than twice"),
        ([torch.zeros(1500), torch.zeros(4, 200)], r"float32\[1500\], float32\[4, 200\]: more than"),
        (torch.zeros(3).to(torch.float8_e4m3fn), "dtype float8_e4m3fn"),
        (torch.zeros(3, dtype=torch.uint16), "dtype uint16"),
    ],
)
def test_results_that_cannot_be_carried_are_wrong(segments: dict[str, Segment], out: Any, says: str) -> None:
    with pytest.raises(CandidateFault, match=says) as caught:
        placed(segments, out)
    assert caught.value.kind == "output"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    sys.modules.pop(NAME, None)


def fault_of(folder: Path, source: str, kind: str = "runtime") -> CandidateFault:
    """What comes of calling the source's `f`."""
    module = load(source, folder, NAME)
    with pytest.raises(CandidateFault) as caught, faults(kind, NAME):
        module.f()
    return caught.value


def test_a_source_is_a_module_that_can_be_read_back(folder: Path) -> None:
    import inspect

    module = load("def f():\n    return 'ü'\n", folder, NAME)
    assert module.f() == "ü"
    assert inspect.getsource(module.f) == "def f():\n    return 'ü'\n"
    again = load("def f():\n    return 2\n", folder, NAME)
    assert (again.f(), inspect.getsource(again.f)) == (2, "def f():\n    return 2\n")


def test_faults_are_told_by_the_lines_of_the_source(folder: Path) -> None:
    fault = fault_of(folder, "def g(n):\n    return 1 / n\n\ndef f():\n    import json\n    return g(0)\n")
    assert (fault.kind, fault.text) == (
        "runtime",
        "ZeroDivisionError: division by zero\n  line 6, in f: return g(0)\n  line 2, in g: return 1 / n",
    )


def test_errors_at_import(folder: Path) -> None:
    with pytest.raises(CandidateFault) as caught:
        load("x = 1\nimport no_such_module_anywhere\n", folder, NAME)
    assert caught.value.kind == "import"
    assert "line 2, in <module>: import no_such_module_anywhere" in caught.value.text


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), "memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "memory"),
        (GuardViolation("aten::add"), "format"),
        (CompilationError("src", None, "bad"), "compile"),
        (SystemExit(3), "runtime"),
        (KeyboardInterrupt(), "runtime"),
        (ValueError("x"), "runtime"),
    ],
)
def test_kinds_of_fault(folder: Path, error: BaseException, kind: str) -> None:
    with pytest.raises(CandidateFault) as caught, faults("runtime", NAME):
        raise error
    assert caught.value.kind == kind


def test_texts_are_bounded_and_can_be_sent(folder: Path) -> None:
    deep = f"def f(n=50):\n    {'x' * 30_000} = 1; {'y' * 30_000} = 2; f(n - 1) if n else 1 / 0\n"
    assert len(fault_of(folder, deep).text) < 6 * 300
    assert len(fault_of(folder, "def f():\n    raise ValueError('z' * 10_000_000)\n").text) < MAX_TEXT + 300
    assert fault_of(folder, "def f():\n    raise ValueError('\\ud800')\n").text.startswith("ValueError: ?")
    silent = "class E(Exception):\n    def __str__(self):\n        1 / 0\ndef f():\n    raise E\n"
    assert fault_of(folder, silent).text.startswith("E\n  line 5, in f: raise E")
