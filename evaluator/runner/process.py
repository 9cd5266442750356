"""Process attributes of the kernel that Python's standard library does not offer."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def die_with_parent(parent_pid: int) -> None:
    """SIGKILL this process when the thread that started it ends; exits at once if that has happened already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none can escape a kill."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(pid: int) -> list[int]:
    """Process ids of the direct children, zombies included."""
    found: list[int] = []
    for task in os.scandir(f"/proc/{pid}/task"):
        try:
            with open(f"{task.path}/children") as file:
                found.extend(int(child) for child in file.read().split())
        except FileNotFoundError:
            continue
    return found
