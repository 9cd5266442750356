"""A Postgres server of our own in a temporary folder, which tests may kill, freeze and start again."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg

from launcher.ports import free_port
from launcher.process import tied
from tests.services.postgres_binaries import find_binaries, unprivileged, within_reach
from tests.services.processes import alive

START_S = 30.0
CONNECT_S = 3
# a killed process loses nothing that it had committed: only a power cut would, which no test makes
OPTIONS = ("fsync=off", "max_connections=200")


class PostgresServer:
    """Its data outlives every kill. Root lends it an unprivileged user, as Postgres insists."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kernel-grader-pg-"))
        self.port = free_port()
        self._programs = within_reach(find_binaries(), self.folder)
        self._as_user: dict[str, Any] = {"cwd": self.folder}
        if (owner := unprivileged()) is not None:
            os.chown(self.folder, *owner)
            self._as_user |= {"user": owner[0], "group": owner[1], "extra_groups": []}
        self._process: subprocess.Popen[bytes] | None = None
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        self._call("initdb", "-D", str(self.folder / "data"), *options)

    @property
    def url(self) -> str:
        """Of the database `postgres`, whose owner may create others."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self, *settings: str) -> None:
        """Start it, with these `name=value` instead of its own, and return when it answers."""
        own = ("listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.folder}")
        options = [word for option in (*own, *OPTIONS, *settings) for word in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            command = [str(self._programs / "postgres"), "-D", str(self.folder / "data"), *options]
            # SIGQUIT ends every backend and gives shared memory back
            self._process = subprocess.Popen(command, stderr=log, preexec_fn=tied(signal.SIGQUIT), **self._as_user)
        wait_until_up(self.url)

    def kill(self) -> None:
        """SIGKILL for the server and all that it started, at once."""
        if self._process is None:
            return
        family = self.family()
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):  # a backend that has noticed the main process's end
                process.kill()
        self._process.wait()
        while any(alive(process) for process in family):
            time.sleep(0.01)
        self._process = None

    def family(self) -> list[psutil.Process]:
        """The server's main process and every backend."""
        assert self._process is not None
        main = psutil.Process(self._process.pid)
        return [main, *main.children(recursive=True)]

    def close(self) -> None:
        """Stop it in good order, and remove its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # fast shutdown: sessions that are left do not hold it up
            self._process.wait(START_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, program: str, *arguments: str) -> None:
        subprocess.run([str(self._programs / program), *arguments], check=True, capture_output=True, **self._as_user)


def wait_until_up(url: str) -> None:
    """Return when the server answers and takes statements; raises RuntimeError when it does not in time."""
    deadline = time.monotonic() + START_S
    while not answers(url):
        if time.monotonic() > deadline:
            raise RuntimeError(f"Postgres did not answer at {url} within {START_S:g} s")
        time.sleep(0.05)


def answers(url: str) -> bool:
    """Whether it answers, and we may create databases there."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_S) as connection:
            row = connection.execute("SELECT rolcreatedb FROM pg_roles WHERE rolname = current_user").fetchone()
    except psycopg.OperationalError:
        return False
    return bool(row and row[0])
