"""The whole way of a grade on the CPU, through a real judge, zygote and sandbox: each kernel gets its verdict."""

import re
from collections.abc import Iterator

import pytest

from evaluator.report import Report
from evaluator.reward import reward
from evaluator.verdicts import Verdict
from tests.evaluator.judge_support import HONEST, KERNEL, RELU, ROOT, WarmJudge, edited, line_of

PHASES = {"format", "prepare", "start", "load", "compile", "correctness", "timing", "provenance"}
MATMUL = "level1/1_Square_matrix_multiplication_"
GEMM = "level2/76_Gemm_Add_ReLU"


def honest(name: str) -> str:
    return (HONEST / f"{name}.py").read_text()


@pytest.mark.parametrize(
    ("task_id", "code"),
    [
        (RELU, KERNEL),
        (RELU, (ROOT / "benchmarks/kernels/triton/relu.py").read_text()),
        (RELU, honest("relu_autotuned")),
        ("level1/23_Softmax", (ROOT / "benchmarks/kernels/triton/softmax.py").read_text()),
        (MATMUL, (ROOT / "benchmarks/kernels/triton/matmul.py").read_text()),
        ("level1/40_LayerNorm", honest("layer_norm_two_stages")),
        ("level1/51_Argmax_over_a_dimension", honest("argmax_integer_output")),
        (GEMM, honest("gemm_bias_relu_other_order")),
        ("level3/1_MLP", honest("mlp_layer_by_layer")),
    ],
    ids=["relu", "relu-benchmark", "relu-autotuned", "softmax", "matmul", "layernorm", "argmax", "gemm-order", "mlp"],
)
def test_right_kernels(judge: WarmJudge, task_id: str, code: str) -> None:
    report = judge.grade(code, task_id)
    assert report.verdict is Verdict.CORRECT, report.feedback
    require_sane_timing(report)
    assert set(report.phases) >= PHASES
    assert judge.phases == [phase for phase in judge.phases if phase in report.phases]
    environment = report.environment
    assert (environment["device"], environment["gpu"], environment["evaluator"]) == ("cpu", None, "cpu")
    assert environment["isolation"]
    assert report.max_abs_err is not None
    assert 0 <= report.max_abs_err < 1e-3


def require_sane_timing(report: Report) -> None:
    timing = report.timing
    assert timing is not None
    assert report.roofline is None
    assert min(timing.t_ref_ms, timing.t_new_ms) > 0
    assert timing.speedup_ci95[0] <= timing.speedup <= timing.speedup_ci95[1]
    assert 1 <= timing.pairs <= 3
    assert timing.t_ref_p20_ms is not None
    assert timing.t_new_p80_ms is not None
    assert timing.t_ref_p20_ms <= timing.t_ref_ms
    assert timing.t_new_ms <= timing.t_new_p80_ms
    paid = {
        mode: reward(report.verdict, speedup=timing.speedup, roofline_frac=report.roofline_frac, mode=mode)
        for mode in ("speedup", "roofline")
    }
    assert paid["speedup"] == paid["roofline"] >= 0.1  # a CPU has no roofline: both are the speedup's


WRONG: dict[str, tuple[str, Verdict, str]] = {
    "identity": (edited(result="x"), Verdict.INCORRECT, "one of its inputs"),
    "copy of the input": (
        edited(kernel="tl.load(x + i, mask=i < n)"),
        Verdict.INCORRECT,
        r"trial 1 of 5: output: \d+ of 2048 elements .*largest absolute error \d\.\d+ \(tol.*expected 0, found -",
    ),
    "zeros": (edited(result="y.zero_()"), Verdict.INCORRECT, r"trial 1 of 5: output: .* the first:\n  at \(0, 0\)"),
    "untouched memory": (edited(result="torch.empty_like(x)"), Verdict.INCORRECT, "of 2048 elements"),
    "another shape": (edited(result="y.view(-1)"), Verdict.INCORRECT, r"expected shape \(16, 128\), found \(2048,\)"),
    "a larger shape": (edited(result="torch.cat([y, y])"), Verdict.INCORRECT, r"expected shape .*, found \(32, 128\)"),
    "a huge shape": (
        edited(result="torch.cat([y] * 40)"),
        Verdict.INCORRECT,
        r"forward returned float32\[640, 128\]: more than twice what the reference returns",
    ),
    "another dtype": (edited(result="y.double()"), Verdict.INCORRECT, "expected dtype float32, found float64"),
    "an odd dtype": (edited(result="y.to(torch.float8_e5m2)"), Verdict.INCORRECT, "dtype float8_e5m2"),
    "a tuple": (edited(result="(y,)"), Verdict.INCORRECT, "expected a tensor, found tuple"),
    "no tensor": (edited(result="None"), Verdict.INCORRECT, "expected a tensor, found NoneType"),
    "an object": (edited(result="np.ones(3)"), Verdict.INCORRECT, "ndarray is no tensor"),
    "half precision": (edited(result="y.bfloat16().float()"), Verdict.INCORRECT, "precision_downgrade"),
    "a subclass": (edited(result="torch.nn.Parameter(y)"), Verdict.INCORRECT, "Parameter, a subclass of torch.Tensor"),
    "changed input": (edited(after="x.zero_()"), Verdict.INCORRECT, "changed its input number 1"),
    "torch in forward": (
        edited(result="torch.nn.functional.relu(x) + y"),
        Verdict.FORMAT_VIOLATION,
        r"aten::\w+.* was called during forward \(line {line}: return torch",
    ),
    "error at import": (edited(module="raise ValueError('at import')"), Verdict.COMPILE_ERROR, "ValueError: at import"),
    "error in __init__": (edited(init="raise KeyError('in init')"), Verdict.RUNTIME_ERROR, "KeyError: 'in init'"),
    "error in forward": (edited(before="raise OSError('here')"), Verdict.RUNTIME_ERROR, "OSError: here"),
    "error in a helper": (
        edited(module="def helper(t):\n    return t.no_such_thing", before="helper(x)"),
        Verdict.RUNTIME_ERROR,
        r"no attribute 'no_such_thing'\n  line \d+, in forward: helper\(x\)\n  line {line}, in helper: ",
    ),
    "exit": (edited(before="raise SystemExit(0)"), Verdict.RUNTIME_ERROR, "SystemExit: 0"),
    "error without text": (
        edited(module="class Bad(Exception):\n    def __str__(self):\n        raise self", before="raise Bad"),
        Verdict.RUNTIME_ERROR,
        "Bad",
    ),
    "error in the kernel": (edited(kernel="tl.no_such_op(x)"), Verdict.RUNTIME_ERROR, "no_such_op"),
    "long lines": (
        edited(before=f"text = '{'x' * 100_000}'; raise ValueError(text)"),
        Verdict.RUNTIME_ERROR,
        r"ValueError: xxx+\n\[...\]\n|ValueError: xxx",
    ),
    "torch in a long line": (
        edited(before=f"text = '{'x' * 200_000}'; torch.relu(x)"),
        Verdict.FORMAT_VIOLATION,
        r"aten::relu was called during forward \(line \d+: text = 'xxx",
    ),
    "wrong constructor": (
        KERNEL.replace("def __init__(self)", "def __init__(self, size)"),
        Verdict.RUNTIME_ERROR,
        "missing 1 required positional argument: 'size'",
    ),
    "out of memory": (edited(before="raise MemoryError"), Verdict.RUNTIME_ERROR, "out of memory: MemoryError"),
    "segmentation fault": (
        edited(before="np.lib.stride_tricks.as_strided(np.zeros(1), (1 << 40,), (8,))[1 << 39] = 1"),
        Verdict.RUNTIME_ERROR,
        "the process died in forward: killed by SIGSEGV",
    ),
    "_exit in forward": (edited(before="getattr(os, '_ex' + 'it')(0)"), Verdict.RUNTIME_ERROR, "exit code 0"),
    "_exit at import": (edited(module="getattr(os, '_ex' + 'it')(7)"), Verdict.RUNTIME_ERROR, "import: exit code 7"),
    "syntax": (KERNEL.replace("return y", "return y)"), Verdict.FORMAT_VIOLATION, r"line {line}: .*\[syntax\]"),
    "no ModelNew": (KERNEL.replace("ModelNew", "Model"), Verdict.FORMAT_VIOLATION, "ModelNew"),
    "fallback": (
        edited(before="try:\n            return self.f\n        except Exception:\n            return torch.relu(x)"),
        Verdict.FORMAT_VIOLATION,
        r"aten::relu was called during forward \(line {line}: return torch.relu\(x\)\)",
    ),
}  # fmt: skip
RULES = {
    "half precision": ["precision-downgrade"], "torch in forward": ["torch-in-forward"], "syntax": ["syntax"],
    "torch in a long line": ["torch-in-forward"], "no ModelNew": ["no-model-new"], "fallback": ["torch-in-forward"],
}  # fmt: skip
MARKED = {
    "torch in forward": "return torch.nn", "error at import": "raise ValueError", "error in __init__": "raise KeyError",
    "error in forward": "raise OSError", "error in a helper": "t.no_such_thing", "exit": "raise SystemExit",
    "syntax": "return y)", "fallback": "return torch.relu(x)",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def honest_still_passes(judge: WarmJudge) -> Iterator[None]:
    """After all that happened, a right kernel gets its usual verdict."""
    yield
    assert judge.grade(KERNEL).verdict is Verdict.CORRECT


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernels(judge: WarmJudge, name: str) -> None:
    code, verdict, says = WRONG[name]
    report = judge.grade(code)
    if name in MARKED:
        line = line_of(code, MARKED[name])
        says = says.replace("{line}", str(line))
        assert re.search(rf"\bline {line}\b", report.feedback), report.feedback
    assert (report.verdict, bool(re.search(says, report.feedback, re.DOTALL))) == (verdict, True), report.feedback
    assert report.timing is None
    assert report.rules == RULES.get(name, [])
    assert len(report.feedback.encode()) <= judge.config.limits.feedback_bytes


@pytest.mark.parametrize(
    "name", ["zeros", "half precision", "torch in forward", "segmentation fault", "error in a helper"]
)
def test_the_same_fault_is_told_in_the_same_words(judge: WarmJudge, name: str) -> None:
    code = WRONG[name][0]
    assert len({judge.grade(code).feedback for _ in range(2)}) == 1


def test_hidden_seeds_decide_the_inputs(judge: WarmJudge) -> None:
    code = WRONG["zeros"][0]
    assert judge.grade(code, seed_key="aa").feedback != judge.grade(code, seed_key="bb").feedback


DECOY = """\
import torch
import triton
import triton.language as tl


@triton.jit
def decoy_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        sizes = [in_features, *hidden, out_features]
        layers = []
        for wide, narrow in zip(sizes, sizes[1:]):
            layers += [torch.nn.Linear(wide, narrow), torch.nn.ReLU()]
        self.network = torch.nn.Sequential(*layers[:-1])

    def forward(self, x):
        decoy_kernel[(1,)](torch.empty(8, device=x.device), 8, BLOCK=8)
        return self.network(x)
"""


def test_a_kernel_that_nobody_needs_is_found_out(judge: WarmJudge) -> None:
    """On level 3 torch may do what the kernels do not; it may not do all of it."""
    report = judge.grade(DECOY, "level3/1_MLP")
    assert (report.verdict, report.rules) == (Verdict.FORMAT_VIOLATION, ["decoy"])
    assert "right without any of the submission's kernels" in report.feedback


GEMM_CODE = honest("gemm_bias_relu_other_order")


def test_weights_that_match_no_name_are_told(judge: WarmJudge) -> None:
    report = judge.grade(GEMM_CODE.replace("self.bias", "self.offset"), GEMM)
    assert report.verdict is Verdict.INCORRECT
    assert "weights_unmatched" in report.feedback
    assert "for bias." in report.feedback


def test_a_thousand_warnings_fit_into_a_report(judge: WarmJudge) -> None:
    report = judge.grade(edited(module="import time;" * 15_000))
    assert report.verdict is Verdict.CORRECT, report.feedback
    assert 1 <= len(report.warnings) <= 20


def test_the_longest_source_is_graded(judge: WarmJudge) -> None:
    room = judge.config.limits.source_bytes - len(KERNEL.encode()) - 10
    report = judge.grade(KERNEL + "# " + "\x01" * room + "\n")
    assert report.verdict is Verdict.CORRECT, report.feedback
