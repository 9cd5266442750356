"""One child process of the launcher: started so that it cannot outlive its starter, and stopped as a group."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def _prctl() -> Callable[[int, int], int] | None:
    """The C library's prctl, or None where the system has none (macOS)."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda option, value: int(libc.prctl(option, value, 0, 0, 0))


_PRCTL = _prctl()


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that `stop` can still find them."""
    if _PRCTL is not None:
        _PRCTL(PR_SET_CHILD_SUBREAPER, 1)


def tied(number: int = signal.SIGTERM) -> Callable[[], None]:
    """For `preexec_fn`: the child gets this signal when the process that starts it ends, also when that is killed.

    The kernel counts the end of the thread that started it: what another than the main one starts is not tied.
    """
    parent = os.getpid()
    lasting = threading.current_thread() is threading.main_thread()

    def tie() -> None:
        if _PRCTL is not None and lasting:
            _PRCTL(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # the parent was gone before the request took hold
            os._exit(1)

    return tie


@dataclass(frozen=True)
class Command:
    """What to run. `name` is how the launcher and the log folder call it; `quiet` sends its output to the log too."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    quiet: bool = False


class Child:
    """A running command. Its standard error goes to `log_path`, and its standard output to ours or there as well.

    Without a `log_path` both go where ours go, as a container wants it.
    """

    def __init__(self, command: Command, log_path: Path | None, *, cwd: Path) -> None:
        self.command = command
        self.log_path = log_path
        self.started_at = time.monotonic()
        with log_path.open("ab") if log_path is not None else nullcontext() as log:
            self._popen = subprocess.Popen(
                command.argv,
                cwd=cwd,
                env={**os.environ, **command.env},
                stdin=subprocess.PIPE if command.stdin is not None else subprocess.DEVNULL,
                stdout=log if command.quiet else None,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the terminal reaches the launcher alone, which stops all in order
                preexec_fn=tied(),
            )
        if command.stdin is not None and self._popen.stdin is not None:
            self._popen.stdin.write(command.stdin)
            self._popen.stdin.close()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.started_at

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal, or None while it runs."""
        return self._popen.poll()

    def terminate(self) -> None:
        """Ask it to end."""
        if self.exit_status() is None:
            self._popen.terminate()

    def kill_group(self) -> None:
        """End it and everything in its session at once."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within `timeout_s`."""
        try:
            self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of its log."""
        if self.log_path is None or not self.log_path.exists():
            return ""
        text = self.log_path.read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])
