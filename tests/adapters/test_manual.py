"""The programs of docs/trainers.md run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer
from tests.services.installation import source

BLOCK = re.compile(r"^```python name=(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTS = {
    "plain": "[1.3, 0.0]\n",
    "verl": "1.3\n[1.3, 0.0]\n",
    "verifiers": "[1.3, 0.0]\n[{'kernel_verdict': 'correct', 'kernel_graded': True}, "
    "{'kernel_verdict': 'format_violation', 'kernel_graded': True}]\n",
}


def programs() -> dict[str, str]:
    """By name, each behind the stand-in for a policy."""
    found = dict(BLOCK.findall((REPOSITORY / "docs" / "trainers.md").read_text()))
    policy = found.pop("policy")
    return {name: policy + program for name, program in found.items()}


@pytest.mark.parametrize("name", PRINTS)
def test_a_program(server: OwnServer, tmp_path: Path, name: str) -> None:
    (tmp_path / "kernel.py").write_text(source("correct speedup=2.0"))
    environ = {**os.environ, "KERNEL_GRADER_URL": server.url, "NO_PROXY": "*"}
    done = subprocess.run(
        [sys.executable, "-c", programs()[name]], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, PRINTS[name]), done.stderr


def test_no_program_is_forgotten() -> None:
    assert programs().keys() == PRINTS.keys() | {"openenv"}
