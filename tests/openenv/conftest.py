"""A grader with the mock evaluator, doors in front of it, and released clients that go through them."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from launcher.demo_server import OwnServer
from launcher.ports import free_port
from launcher.process import tied
from tests.openenv.environments import NotInstallable, environ, python
from tests.services import postgres

RELEASES = ["openenv-core", "openenv"]
PLAYER = Path(__file__).parent / "player.py"
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
    process = subprocess.Popen(command, env=environ(grader.url, **settings), preexec_fn=tied())
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


@pytest.fixture(scope="session")
def door_for(grader: OwnServer) -> Iterator[Callable[[str, int], str]]:
    """The address of a door on a release that takes so many sessions; each is started once."""
    with ExitStack() as opened:

        @cache
        def find(release: str, sessions: int) -> str:
            return opened.enter_context(door(grader, release, KERNEL_ENV_MAX_SESSIONS=str(sessions)))

        yield find


class Player:
    """A process with a released client, which plays one function after another."""

    def __init__(self, release: str, grader: OwnServer) -> None:
        command = [str(installed(release)), str(PLAYER)]
        self.process = subprocess.Popen(
            command, env=environ(grader.url), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, function: str, url: str, **given: Any) -> Any:
        """What the function returned; it is one of `programs.py` unless it names another module."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        function = function if "." in function else f"programs.{function}"
        print(json.dumps([function, url, given]), file=self.process.stdin, flush=True)
        told = json.loads(self.process.stdout.readline() or '{"raised": "the player has ended"}')
        assert "raised" not in told, told["raised"]
        return told["returned"]


@pytest.fixture(scope="session")
def player(grader: OwnServer) -> Iterator[Callable[[str], Play]]:
    """The one that plays with a release."""
    with ExitStack() as started:

        @cache
        def find(release: str) -> Play:
            made = Player(release, grader)
            started.enter_context(made.process)  # leaving closes its input, which ends it
            return made

        yield find


@pytest.fixture(scope="session", params=RELEASES)
def client(request: pytest.FixtureRequest, player: Callable[[str], Play]) -> Play:
    """Plays a function of `programs.py` with a released client; what it returned."""
    return player(request.param)


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
