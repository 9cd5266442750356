"""Every honest kernel passes the static check, names a task that exists, and is right where it can run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.static import check, render
from evaluator.tasks import Catalogue

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("triton/*.py")) + sorted(HERE.glob("cuda/*.py"))
RELATIVE_ERROR_MAX = 1e-5


def header(path: Path, key: str) -> str:
    line = next(line for line in path.read_text().splitlines() if line.startswith(f"# {key}:"))
    return line.partition(":")[2].strip()


def run(device: str, files: list[Path], timeout_s: float) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(HERE / "run_kernels.py"), device, *map(str, files)],
        env={key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(results) == len(files)
    return results


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(HERE.parents[1] / "kernelbench_tasks")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_static_error(path: Path, catalogue: Catalogue) -> None:
    errors = [found for found in check(path.read_text(), path.parent.name) if found.severity == "error"]
    assert errors == [], render(errors)
    assert catalogue.servable(header(path, "task"))
    assert header(path, "style")


def test_triton_kernels_are_right_in_the_interpreter() -> None:
    results = run("cpu", [path for path in FILES if path.parent.name == "triton"], 240)
    assert [result for result in results if not result.get("relative_error", 1.0) <= RELATIVE_ERROR_MAX] == []


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs a CUDA device")
def test_all_kernels_are_right_on_a_gpu_at_full_size() -> None:
    assert [result for result in run("cuda", FILES, 280) if not result.get("close")] == []


def test_corpus_is_broad() -> None:
    styles = {header(path, "style") for path in FILES}
    assert len(styles) == len(FILES) >= 50
