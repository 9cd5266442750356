"""The OpenEnv program of docs/trainers.md runs as it stands there, on each release."""

import subprocess
from pathlib import Path

import pytest

from launcher.demo_server import OwnServer
from tests.adapters.test_manual import programs
from tests.openenv.conftest import RELEASES, installed
from tests.openenv.environments import environ
from tests.services.installation import source

pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("release", RELEASES)
def test_the_program(grader: OwnServer, front: str, tmp_path: Path, release: str) -> None:
    (tmp_path / "kernel.py").write_text(source("correct speedup=2.0"))
    command = [str(installed(release)), "-c", programs()["openenv"]]
    settings = environ(grader.url, OPENENV_URL=front)
    done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "graded correct 1.3 2\ngraded correct 1.3 2\n"), done.stderr
