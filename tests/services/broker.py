"""A Redis of our own on a free port, from the system's packages or from the wheel; it keeps nothing on disk."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from launcher.broker import find_server
from launcher.ports import free_port
from launcher.process import tied

START_S = 15.0


class Broker:
    """A server process that tests may kill, freeze and start again on the same port."""

    def __init__(self) -> None:
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        binary, _ = find_server()
        options = f"--bind 127.0.0.1 --port {self.port} --save  --appendonly no --loglevel warning".split(" ")
        self._process = subprocess.Popen(
            [str(binary), *options], cwd="/tmp", stdout=subprocess.DEVNULL, preexec_fn=tied(signal.SIGKILL)
        )
        client = redis.Redis.from_url(self.url)
        deadline = time.monotonic() + START_S
        with client:
            while True:
                try:
                    client.ping()
                    return
                except redis.exceptions.ConnectionError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)

    def kill(self) -> None:
        """End it at once, with everything it held."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def empty(self) -> None:
        """Lose all data and go on."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()


@contextmanager
def broker() -> Iterator[Broker]:
    """A started broker, ended afterwards."""
    server = Broker()
    server.start()
    try:
        yield server
    finally:
        server.kill()
