"""Every honest kernel passes the static check and names a task that exists; on a GPU all of them are right."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.static import check, render
from evaluator.tasks import Catalogue
from tests.honest.corpus import CORPUS, Honest

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("triton/*.py")) + sorted(HERE.glob("cuda/*.py"))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(HERE.parents[1] / "kernelbench_tasks")


@pytest.mark.parametrize("kernel", CORPUS, ids=lambda kernel: kernel.name)
def test_no_static_error(kernel: Honest, catalogue: Catalogue) -> None:
    errors = [found for found in check(kernel.code, kernel.language) if found.severity == "error"]
    assert errors == [], render(errors)
    assert catalogue.servable(kernel.task)
    assert kernel.style


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs a CUDA device")
def test_all_kernels_are_right_on_a_gpu_at_full_size() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "run_kernels.py"), *map(str, FILES)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(FILES)
    assert [result for result in results if not result.get("close")] == []


def test_corpus_is_broad() -> None:
    styles = {kernel.style for kernel in CORPUS}
    assert len(styles) == len(CORPUS) >= 50
