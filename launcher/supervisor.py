"""Keeps the children running: starts them in order, starts again what ends, stops all of it in order."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import psutil

from launcher.process import Child, Command

POLL_S = 0.2
SETTLED_S = 10.0
BACKOFF_MAX_S = 10.0


class Supervisor:
    """Owns a list of children. Use from the main thread only: the death signal follows the thread that forks.

    Without a `log_dir` the children write where this process does.
    """

    def __init__(self, log_dir: Path | None, *, cwd: Path, say: Callable[[str], None], stopping: Event) -> None:
        self._log_dir, self._cwd, self._say = log_dir, cwd, say
        self._stopping = stopping
        self._children: list[Child] = []
        self._failures: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def start(self, command: Command) -> Child:
        """Start a child that is to run until `stop`."""
        log_path = self._log_dir / f"{command.name}.log" if self._log_dir is not None else None
        child = Child(command, log_path, cwd=self._cwd)
        self._children.append(child)
        return child

    def run(self) -> None:
        """Watch over the children until `stopping` is set."""
        while not self._stopping.wait(POLL_S):
            for index, child in enumerate(self._children):
                status = child.exit_status()
                if status is not None:
                    self._children[index] = self._revive(child, status)
            self._reap_adopted()

    def _revive(self, child: Child, status: int) -> Child:
        """The replacement of an ended child, or the child itself while its pause lasts."""
        name = child.command.name
        if name not in self._due:
            failures = 0 if child.age_s > SETTLED_S else self._failures.get(name, 0) + 1
            pause_s = min(0.5 * 2**failures, BACKOFF_MAX_S) if failures else 0.0
            self._failures[name], self._due[name] = failures, time.monotonic() + pause_s
            log = f" (log: {child.log_path})" if child.log_path is not None else ""
            self._say(f"{name} ended with status {status}; starting it again{log}")
            child.kill_group()
        if time.monotonic() < self._due[name]:
            return child
        del self._due[name]
        return Child(child.command, child.log_path, cwd=self._cwd)

    def _reap_adopted(self) -> None:
        """Collect orphans that ended, so that none stays behind as a zombie."""
        own = {child.pid for child in self._children}
        for process in psutil.Process().children():
            if process.pid not in own and _status(process) == psutil.STATUS_ZOMBIE:
                os.waitpid(process.pid, os.WNOHANG)

    def stop(self, grace_s: float, hurry: Event, *, needed_to_the_end: int = 1) -> None:
        """End all children, the last started first to be told; `hurry` cuts the grace short.

        The first `needed_to_the_end` (the broker, where there is one) end last, so that the others can still report.
        """
        first, rest = self._children[:needed_to_the_end], self._children[needed_to_the_end:]
        for group in (rest[::-1], first):
            self._stop_group(group, grace_s, hurry)
        for process in psutil.Process().children(recursive=True):
            _kill(process)
        self._children.clear()

    def _stop_group(self, group: Sequence[Child], grace_s: float, hurry: Event) -> None:
        for child in group:
            child.terminate()
        deadline = time.monotonic() + grace_s
        while any(child.exit_status() is None for child in group):
            if time.monotonic() > deadline or hurry.wait(0.05):
                break
        for child in group:
            child.kill_group()
            child.wait(5.0)


def _status(process: psutil.Process) -> str:
    try:
        return process.status()
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
        process.wait(5.0)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        return
