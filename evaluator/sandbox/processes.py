"""What runs on this machine, read from /proc, and killing it without hitting a stranger that got a reused number."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Process:
    """One line of /proc: `started` (clock ticks since boot) tells a process from a later one with its number."""

    pid: int
    state: str
    parent: int
    group: int
    started: int
    uid: int

    @classmethod
    def read(cls, pid: int) -> Self | None:
        """The process with that number, or None where there is none."""
        try:
            uid = Path(f"/proc/{pid}").stat().st_uid
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            # a process that is not dumpable belongs to root in /proc; its status names the real uid
            if uid == 0:
                uid = _real_uid(pid)
        except (OSError, IndexError):
            return None
        return cls(pid, fields[0], int(fields[1]), int(fields[2]), int(fields[19]), uid)

    @property
    def gone(self) -> bool:
        """Dead, waiting only for its parent to take notice."""
        return self.state in "ZX"


def _real_uid(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    raise OSError(f"/proc/{pid}/status names no uid")


def listed() -> Iterator[Process]:
    """Every process of the machine (or PID namespace), dead ones that nobody has awaited included."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            process = Process.read(int(entry.name))
            if process is not None:
                yield process


def running(wanted: Callable[[Process], bool]) -> Iterator[Process]:
    """Every process for which `wanted` holds, dead ones left out."""
    return (process for process in listed() if not process.gone and wanted(process))


def descendants(pid: int) -> list[Process]:
    """Children of `pid`, their children and so on, dead ones left out."""
    by_parent: dict[int, list[Process]] = {}
    for process in running(lambda _: True):
        by_parent.setdefault(process.parent, []).append(process)
    found, waiting = [], [pid]
    while waiting:
        for child in by_parent.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child.pid)
    return found


def signal_group(leader_pid: int, leader_started: int, number: signal.Signals) -> bool:
    """Signal the process group of that leader; False where nothing is left of it.

    A group's number stays taken while it has members, so only a leader that is gone and replaced is to be feared.
    """
    present = Process.read(leader_pid)
    if present is not None and present.started != leader_started:
        return False
    try:
        os.killpg(leader_pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_user(uid: int, gid: int) -> None:
    """SIGKILL every process of that uid at once, in the one way that no fork bomb outruns: as that user, to all.

    Only root can. The kernel delivers to all processes that the user may signal, the killer's shell included.
    """
    subprocess.run(
        ["/bin/sh", "-c", "kill -KILL -1"],
        user=uid,
        group=gid,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        check=False,
    )
