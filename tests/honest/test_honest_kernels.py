"""Every honest kernel passes the static check and names a task that exists; on a GPU all of them are right."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.static import check, render
from evaluator.tasks import Catalogue

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("triton/*.py")) + sorted(HERE.glob("cuda/*.py"))


def header(path: Path, key: str) -> str:
    line = next(line for line in path.read_text().splitlines() if line.startswith(f"# {key}:"))
    return line.partition(":")[2].strip()


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(HERE.parents[1] / "kernelbench_tasks")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_static_error(path: Path, catalogue: Catalogue) -> None:
    errors = [found for found in check(path.read_text(), path.parent.name) if found.severity == "error"]
    assert errors == [], render(errors)
    assert catalogue.servable(header(path, "task"))
    assert header(path, "style")


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
    styles = {header(path, "style") for path in FILES}
    assert len(styles) == len(FILES) >= 50
