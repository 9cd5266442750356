"""The capabilities that a worker's container keeps are enough: every wall stands that stands with all of them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from launcher.commands import REPOSITORY
from tests.compose.reading import raw

KEPT = raw()["services"]["worker-cpu"]["cap_add"]


def walls(tmp_path: Path, prefix: Sequence[str] = ()) -> set[str]:
    """What stood around a candidate."""
    command = [*prefix, sys.executable, "-m", "evaluator", "level1/19_ReLU", "examples/relu.py"]
    settings = {"KERNEL_ENV_EVALUATOR": "cpu", "KERNEL_ENV_CPU_TIMING_S": "0.2", "KERNEL_ENV_DATA_DIR": str(tmp_path)}
    environment = {**os.environ, **settings}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=240)
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["verdict"] == "correct", done.stderr
    return {name for name, wall in report["environment"]["isolation"].items() if wall["in_force"]}


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_every_wall_stands_under_what_the_container_keeps(tmp_path: Path) -> None:
    bounding = ",".join(["-all", *(f"+{name.lower()}" for name in KEPT)])
    as_contained = ["setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set={bounding}"]
    assert walls(tmp_path, as_contained) == walls(tmp_path)


def test_all_workers_keep_the_same() -> None:
    assert {tuple(raw()["services"][name]["cap_add"]) for name in ("compile", "worker", "worker-cpu")} == {tuple(KEPT)}
