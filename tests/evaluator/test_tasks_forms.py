"""Every form that the format allows, through a real judge: the reference of each is graded against itself."""

from collections.abc import Iterator

import pytest

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.submission import Submission
from evaluator.tasks import Catalogue, source_for
from evaluator.verdicts import Verdict
from tests.evaluator.judge_support import LIMITS

TEMPLATE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width=8, depth=1):
        super().__init__()
        self.linear = nn.Linear(width, width){cast}
        self.depth = depth

    def forward(self, {arguments}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return {init}
"""
X = "torch.rand(4, 8)"
# name: (init inputs, arguments of forward, result, inputs, cast of the weights)
FORMS = {
    "init_list": ("[8, 2]", "x", "self.linear(x) * self.depth", X, ""),
    "init_tuple": ("(8, 2)", "x", "self.linear(x) * self.depth", X, ""),
    "init_dict": ('{"width": 8, "depth": 3}', "x", "self.linear(x) * self.depth", X, ""),
    "init_args_kwargs": ('[[8], {"depth": 3}]', "x", "self.linear(x) * self.depth", X, ""),
    "init_nothing": ("[]", "x", "self.linear(x)", X, ""),
    "no_parameters_used": ("[]", "x", "torch.tanh(x)", X, ""),
    "input_integer_tensor": ("[]", "x, i", "x[i]", f"{X}, torch.randint(0, 4, (6,))", ""),
    "input_boolean_tensor": ("[]", "x, m", "x * m", f"{X}, torch.rand(4, 8) > 0.5", ""),
    "input_scalars": ("[]", "x, n, s, b", "x * n + s if b else x", f"{X}, 3, 0.25, True", ""),
    "input_none": ("[]", "x, y", "x if y is None else x + y", f"{X} * 2, None", ""),
    "input_list_of_tensors": ("[]", "xs", "xs[0] + xs[1]", f"[{X}, {X}]", ""),
    "output_tuple": ("[]", "x", "(x * 2, x.sum(1))", X, ""),
    "output_list": ("[]", "x", "[x * 2, x.argmax(1)]", X, ""),
    "output_dict": ("[]", "x", '{"a": x * 2, "b": {"c": x.sum()}}', X, ""),
    "output_scalar_tensor": ("[]", "x", "x.mean()", X, ""),
    "output_float": ("[]", "x", "float(x.sum())", X, ""),
    "output_integers": ("[]", "x", "x.argmax(1)", X, ""),
    "output_boolean": ("[]", "x", "x > 0.5", X, ""),
    "half": ("[]", "x", "torch.relu(x)", "torch.randn(4, 8).half()", ""),
    "bfloat16": ("[]", "x", "self.linear(x)", "torch.randn(4, 8).bfloat16()", ".bfloat16()"),
    "float64": ("[]", "x", "self.linear(x)", "torch.randn(4, 8).double()", ".double()"),
}
NUMBERS = {name: 900 + at for at, name in enumerate(FORMS)}


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeClient]:
    folder = tmp_path_factory.mktemp("forms")
    (folder / "level1").mkdir()
    for name, (init, arguments, result, inputs, cast) in FORMS.items():
        text = TEMPLATE.format(init=init, arguments=arguments, result=result, inputs=inputs, cast=cast)
        (folder / "level1" / f"{NUMBERS[name]}_{name}.py").write_text(text)
    config = EvaluatorConfig("cpu", str(folder), str(folder / "state"), limits=LIMITS, audit=True)
    process = JudgeProcess(config)
    process.start()
    client = JudgeClient(process.socket_path, config)
    client.folder = folder  # type: ignore[attr-defined]
    yield client
    client.close()
    process.close()


def graded(judge: JudgeClient, name: str, *, source_of: str | None = None) -> Verdict:
    catalogue = Catalogue(judge.folder)  # type: ignore[attr-defined]
    task_id, taken = (f"level1/{NUMBERS[n]}_{n}" for n in (name, source_of or name))
    source = source_for(catalogue.get(taken), "cpu")
    report = judge.evaluate(Submission("sub", task_id, source, "triton", "0011"), lambda phase: None)
    if source_of is None:
        assert report.correct, report.feedback
    return report.verdict


@pytest.mark.parametrize("name", FORMS)
def test_a_reference_of_this_form_is_right(judge: JudgeClient, name: str) -> None:
    assert graded(judge, name) is Verdict.CORRECT


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("output_tuple", "output_list"),
        ("output_dict", "output_tuple"),
        ("output_float", "output_scalar_tensor"),
        ("output_integers", "output_boolean"),
        ("half", "no_parameters_used"),
    ],
)
def test_another_form_is_wrong(judge: JudgeClient, name: str, other: str) -> None:
    assert graded(judge, name, source_of=other) is Verdict.INCORRECT
