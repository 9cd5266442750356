"""The judge's end of a small process that outlives it for a moment, to kill what a killed judge had on a leash.

The death signal reaches a runner, not what it forked, which would live on where there is no PID namespace.
"""

import json
import os
import subprocess
import sys
from typing import IO, Self

from evaluator.sandbox.hold import Hold


class Warden:
    """The judge's end: `watch` after `Leash.attach`, `release` after `Leash.kill`, `stop` at the end."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: IO[bytes]) -> None:
        self._process = process
        self._pipe = pipe

    @classmethod
    def start(cls) -> Self:
        """Start the process, in a session of its own so that killing the judge's group spares it."""
        read_fd, write_fd = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "evaluator.sandbox.warden_process", str(read_fd)],
            pass_fds=[read_fd],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(read_fd)
        return cls(process, os.fdopen(write_fd, "wb", buffering=0))

    def watch(self, hold: Hold) -> None:
        """Kill that runner if this process ends before `release`. Raises BrokenPipeError if the warden is gone."""
        self._tell("watch", hold)

    def release(self, hold: Hold) -> None:
        """That runner is dead already."""
        self._tell("release", hold)

    def stop(self) -> None:
        """Let the warden kill whatever is still watched, and wait for it."""
        self._pipe.close()
        self._process.wait()

    def _tell(self, change: str, hold: Hold) -> None:
        self._pipe.write(json.dumps([change, hold.to_json()]).encode() + b"\n")
