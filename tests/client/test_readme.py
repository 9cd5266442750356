"""Every example of the client's README and manual runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer
from tests.app.test_episodes import source

README = REPOSITORY / "client" / "README.md"
MANUAL = REPOSITORY / "docs" / "client.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^kernel-grader (.*)$", re.MULTILINE)


def examples(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


def run(server: OwnServer, folder: Path, *arguments: str) -> str:
    """Run Python beside a kernel.py, as somebody who has set KERNEL_GRADER_URL; what it printed."""
    (folder / "kernel.py").write_text(source("correct speedup=2.0"))
    environ = {**os.environ, "KERNEL_GRADER_URL": server.url, "NO_PROXY": "*", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], env=environ, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("number", "prints"),
    [
        (0, "correct 1.3 2.0"),
        (1, "2 correct 1.3\n2 correct 1.3"),
        (2, "{'"),
        (3, "was not graded"),
    ],
)
def test_the_readmes_programs(server: OwnServer, tmp_path: Path, number: int, prints: str) -> None:
    told = run(server, tmp_path, "-c", examples(README)[number])
    assert prints in told
    if number == 2:
        assert eval(told) == {"0": 1.3, "1": 0.0, "2": 0.0}


def test_all_programs_are_tried() -> None:
    assert len(examples(README)) == 4
    assert len(examples(MANUAL)) == 1


def test_the_manuals_program(server: OwnServer, tmp_path: Path) -> None:
    assert run(server, tmp_path, "-c", examples(MANUAL)[0])


@pytest.mark.parametrize("page", [README, MANUAL], ids=["readme", "manual"])
def test_the_commands(server: OwnServer, tmp_path: Path, page: Path) -> None:
    commands = COMMAND.findall(page.read_text())
    assert commands
    for command in commands:
        run(server, tmp_path, "-m", "kernel_grader_client", *command.partition("#")[0].split())
