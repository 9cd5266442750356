"""Starts the zygote and asks it for runners."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.errors import GraderFault
from evaluator.judge.runner_link import RunnerLink
from evaluator.wire import Channel, WireError

START_DEADLINE_S = 120.0
REPLY_DEADLINE_S = 30.0
# All that a zygote, and so a candidate, may see of our environment.
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TRITON_PTXAS_PATH", "LANG")


class Zygote:
    """One warm parent of runners. Restarted by `spawn` if it was lost."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._lock = threading.RLock()

    def start(self) -> None:
        """Begin to start the zygote; `spawn` waits until it is ready."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "evaluator.runner.zygote", str(theirs.fileno()), self._kind]
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        environment["HOME"] = environment["TMPDIR"] = "/tmp"
        # Thread pools made before a fork do not survive it.
        environment["OMP_NUM_THREADS"] = environment["OPENBLAS_NUM_THREADS"] = "1"
        self._process = subprocess.Popen(
            [*command, str(os.getpid())],
            env=environment,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        self._channel = Channel(ours)
        self._ready = False

    def spawn(
        self, setup: dict[str, Any], fds: Sequence[int], *, trusted: bool, interrupt_fd: int | None
    ) -> RunnerLink:
        """Fork a runner with `setup` and the segments' descriptors. Raises GraderFault."""
        ours, theirs = socket.socketpair()
        try:
            pid = self._spawn({"op": "spawn", **setup}, [theirs.fileno(), *fds])
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return RunnerLink(ours, pid, lambda: self._reap(pid), trusted=trusted, interrupt_fd=interrupt_fd)

    def stop(self) -> None:
        """End the zygote; its runners die with it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._channel is not None:
            self._channel.close()
        self._process = self._channel = None

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> int:
        with self._lock:
            try:
                return self._exchange_spawn(request, fds)
            except GraderFault:  # it was lost since the last spawn; a new one is all that is needed
                return self._exchange_spawn(request, fds)

    def _exchange_spawn(self, request: dict[str, Any], fds: list[int]) -> int:
        channel = self._ensure()
        try:
            if not self._ready:
                channel.receive(deadline_s=START_DEADLINE_S)
                self._ready = True
            channel.send(request, fds=fds)
            reply = channel.receive(deadline_s=REPLY_DEADLINE_S)
        except WireError as error:
            self.stop()
            raise GraderFault("zygote_lost", f"no runner could be started: {error}") from error
        return int(reply["pid"])

    def _reap(self, pid: int) -> int | None:
        with self._lock:
            return self._exchange_reap(pid)

    def _exchange_reap(self, pid: int) -> int | None:
        if self._channel is None:
            return None
        try:
            self._channel.send({"op": "reap", "pid": pid})
            status = self._channel.receive(deadline_s=REPLY_DEADLINE_S).get("status")
        except WireError:
            # Its runners die with it, so nothing is left to kill.
            self.stop()
            return None
        return None if status is None else int(status)

    def _ensure(self) -> Channel:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self.start()
        if self._channel is None:
            raise GraderFault("zygote_lost", "the zygote has no channel")
        return self._channel
