"""A grader with the mock evaluator, doors in front of it, and released clients that go through them."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from launcher.broker import free_port
from launcher.demo_server import OwnServer
from tests.openenv.environments import NotInstallable, environ, python
from tests.services import postgres

RELEASES = ["openenv-core", "openenv"]
PROGRAMS = Path(__file__).parent / "programs.py"
START_S = 180.0

Play = Callable[..., Any]


@pytest.fixture(scope="session")
def grader() -> Iterator[OwnServer]:
    settings = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_GPUS": "0,1"}
    with postgres.database() as url, OwnServer(DATABASE_URL=url, **settings) as started:
        yield started


def installed(name: str) -> Path:
    try:
        return python(name)
    except NotInstallable as error:
        pytest.skip(f"{name} cannot be installed here: {error}")


@contextmanager
def door(grader: OwnServer, release: str, *arguments: str, **settings: str) -> Iterator[str]:
    """The address of a door that runs on that release of OpenEnv."""
    port = free_port()
    command = [str(installed(release)), "-m", "kernel_grader_openenv", "--port", str(port), *arguments]
    process = subprocess.Popen(command, env=environ(grader.url, **settings))
    try:
        _until_up(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="session")
def front(grader: OwnServer) -> Iterator[str]:
    """A door on the living package."""
    with door(grader, "openenv") as url:
        yield url


@pytest.fixture(scope="session", params=RELEASES)
def client(request: pytest.FixtureRequest, grader: OwnServer) -> Play:
    """Plays a function of `programs.py` with a released client; what it returned."""
    interpreter = installed(request.param)

    def play(name: str, url: str, **given: Any) -> Any:
        command = [str(interpreter), str(PROGRAMS), name, url, json.dumps(given)]
        done = subprocess.run(command, env=environ(grader.url), capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return play


def _until_up(process: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.2)
