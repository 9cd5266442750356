"""A server that lives as long as a `with` block: free port, temporary data directory, stopped at the end."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from launcher.commands import REPOSITORY
from launcher.ports import free_port
from launcher.process import tied

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0


class OwnServerError(Exception):
    """The server did not start; the text says why."""


class OwnServer:
    """The launcher in a process of its own. Settings of the environment apply; data and port are its own."""

    def __init__(self, **settings: str) -> None:
        self._dir = tempfile.TemporaryDirectory(prefix="kernel-grader-")
        self.data_dir = Path(self._dir.name)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        env = {**os.environ, "PORT": str(self.port), "KERNEL_ENV_DATA_DIR": str(self.data_dir), **self._settings}
        for shared in ("DATABASE_URL", "REDIS_URL"):  # nothing of it may end up in somebody's database
            if shared not in self._settings:
                env.pop(shared, None)
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "launcher"],
                cwd=REPOSITORY,
                env=env,
                stdout=output,
                stderr=output,
                preexec_fn=tied(),  # who is killed outright cannot stop it
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def _output(self) -> Path:
        return self.data_dir / "launcher.out"

    @property
    def pid(self) -> int:
        """The launcher's process."""
        if self._process is None:
            raise OwnServerError("it is not running")
        return self._process.pid

    def output(self) -> str:
        """What the launcher and its children have printed."""
        return self._output.read_text(errors="replace")

    def close(self) -> None:
        """Stop everything and remove the data."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None
        self._dir.cleanup()

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise OwnServerError(f"the server ended at once:\n{self.output().strip()[-3000:]}")
            try:
                if httpx.get(f"{self.url}/healthz", timeout=2.0, trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise OwnServerError(f"the server did not answer in time:\n{self.output().strip()[-3000:]}")
