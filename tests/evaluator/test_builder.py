"""A build apart from the judge: what it hands over is checked by whoever takes it, and it dies when unwanted."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from evaluator.build import handover
from evaluator.build.cache import ArtifactCache
from evaluator.build.toolchain import toolchain
from evaluator.builder import BuildProcess, Built
from evaluator.config import EvaluatorConfig
from evaluator.errors import Cancelled
from evaluator.judge.building import ExtensionBuilder
from evaluator.judge.clock import PhaseClock
from evaluator.prebuilt import Prebuilt, Product
from evaluator.report import Report
from evaluator.submission import Submission
from evaluator.verdicts import Verdict
from tests.services.installation import CUDA_KERNEL, wait_for

pytestmark = pytest.mark.skipif(toolchain().nvcc is None, reason="no nvcc")


def cuda(body: str = "x[i] > 0 ? x[i] : 0") -> str:
    return CUDA_KERNEL.replace("x[i] > 0 ? x[i] : 0", body)


def submission(code: str) -> Submission:
    return Submission("sub", "level1/19_ReLU", code, "cuda", "00")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> EvaluatorConfig:
    return EvaluatorConfig("cpu", "kernelbench_tasks", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(scope="module")
def built(config: EvaluatorConfig) -> Built:
    answer = BuildProcess(config).build(submission(cuda()), ["9.0", "8.9"], lambda _: None)
    assert isinstance(answer, Built), answer
    return answer


def test_every_architecture_is_built_and_kept_under_its_hash(built: Built, config: EvaluatorConfig) -> None:
    assert [each.architecture for each in built.prebuilt] == ["9.0", "8.9"]
    assert len({each.fingerprint for each in built.prebuilt}) == 2
    assert len({product.sha256 for each in built.prebuilt for product in each.products}) == 2
    assert set(built.phases) == {"format", "build"}
    taken = handover.take(built.prebuilt[0], handover.fingerprint("9.0"), config.extensions_dir)
    assert taken is not None
    assert all(Path(path).read_bytes()[:4] == b"\x7fELF" for path in taken.artifacts.values())


def test_what_does_not_fit_or_was_changed_is_not_taken(built: Built, tmp_path: Path, config: EvaluatorConfig) -> None:
    made = built.prebuilt[0]
    (product,) = made.products
    content = (handover.kept(product, config.extensions_dir) or Path()).read_bytes()
    fits = handover.fingerprint("9.0")
    assert handover.take(made, fits, tmp_path) is None, "the file is not there"
    handover.keep(product, content, tmp_path)
    assert handover.take(made, fits, tmp_path) is not None
    assert handover.take(made, handover.fingerprint("8.9"), tmp_path) is None, "another architecture"
    ArtifactCache(tmp_path).put(product.sha256, product.file_name, content + b"x")
    assert handover.take(made, fits, tmp_path) is None, "another content"
    with pytest.raises(ValueError, match="hash"):
        handover.keep(product, content + b"x", tmp_path)


class Hopper:
    """As much of a judge's device as its builder asks for."""

    name = "cuda"

    def describe(self) -> dict[str, str]:
        return {"compute_capability": "9.0"}


def test_a_judge_takes_over_what_fits_and_builds_the_rest(
    built: Built, config: EvaluatorConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExtensionBuilder, "_prepare", lambda _: None)  # headers that nothing here includes
    judge = ExtensionBuilder(config, Hopper())  # type: ignore[arg-type]
    fits, other = built.prebuilt
    names = []
    for prebuilt, phases in ((fits, {"check_build"}), (other, {"check_build", "build"}), (None, {"build"})):
        clock = PhaseClock(lambda _: None, 60.0)
        taken = judge.build(replace(submission(cuda()), prebuilt=prebuilt), clock)
        assert set(clock.phases) == phases
        assert all(Path(path).name == name for name, path in taken.bring())
        names.append(taken.names())
    assert names[0] == names[1] == names[2] != {}


@pytest.mark.parametrize(
    ("code", "verdict", "says"),
    [
        (cuda("x[i] > 0 ? x[i] : nothing"), Verdict.COMPILE_ERROR, "nothing"),
        (cuda().replace("class ModelNew", "class Model"), Verdict.FORMAT_VIOLATION, "ModelNew"),
    ],
    ids=["compile", "format"],
)
def test_a_verdict_of_the_first_two_stages(code: str, verdict: Verdict, says: str, config: EvaluatorConfig) -> None:
    answer = BuildProcess(config).build(submission(code), ["9.0"], lambda _: None)
    assert isinstance(answer, Report)
    assert answer.verdict is verdict
    assert says in answer.feedback


def test_an_abort_kills_the_compilers(config: EvaluatorConfig) -> None:
    builder = BuildProcess(config)
    slow = cuda("\n".join(f"tanhf(x[i] + {n})" + " +" * (n < 2999) for n in range(3000)))
    ends: list[BaseException] = []

    def build() -> None:
        try:
            builder.build(submission(slow), ["9.0"], lambda _: None)
        except Cancelled as error:
            ends.append(error)

    thread = threading.Thread(target=build)
    thread.start()
    wait_for(lambda: bool(compilers()), 60, "a compiler")
    started, running = time.monotonic(), compilers()
    builder.abort()
    wait_for(lambda: not any(map(name_of, running)), 10, "the compilers to be gone")
    print(f"gone after {time.monotonic() - started:.2f} s")
    thread.join(10)
    assert len(ends) == 1
    builder.close()


def compilers() -> list[psutil.Process]:
    """Compilers of this process's own builds."""
    family = psutil.Process().children(recursive=True)
    return [process for process in family if name_of(process) in ("cicc", "nvcc", "ptxas", "cudafe++", "cc1plus")]


def name_of(process: psutil.Process) -> str:
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.name()
    except psutil.NoSuchProcess:
        return ""


def test_a_product_is_a_plain_name_and_a_hash() -> None:
    with pytest.raises(ValueError, match="not a product"):
        Product("../escape.so", "0" * 64)
    made = Prebuilt("9.0", "print", (Product("a.b.so", "0" * 64),))
    assert Prebuilt.from_json(made.to_json()) == made
