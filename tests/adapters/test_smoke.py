"""`examples/client_smoke.py` against real servers."""

import subprocess
import sys

from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer

SMOKE = [sys.executable, "examples/client_smoke.py"]


def smoke(url: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*SMOKE, url], cwd=REPOSITORY, capture_output=True, text=True, timeout=280)


def test_with_verdicts_that_are_made_up(server: OwnServer) -> None:
    done = smoke(server.url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout


def test_with_real_grades() -> None:
    with OwnServer(KERNEL_ENV_EVALUATOR="cpu") as own:
        done = smoke(own.url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "relu.py: correct" in done.stdout
    assert "relu_identity.py: incorrect" in done.stdout
