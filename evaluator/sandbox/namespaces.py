"""Leaving the machine's namespaces: as root directly, as an ordinary user through a user namespace."""

import os
from typing import Final

from evaluator.sandbox import kernel

#: Wall name -> flag of the namespace that builds it, for those entered by the confined process itself.
NAMESPACES: Final = {
    "network": kernel.CLONE_NEWNET,
    "ipc": kernel.CLONE_NEWIPC,
    "filesystem": kernel.CLONE_NEWNS,
}


def fork_into_pid_namespace() -> tuple[int, str]:
    """`os.fork()` whose child is process 1 of a new PID namespace, so that nothing outlives it.

    Returns (pid as seen by the caller, or 0 in the child; why there is no namespace, or ""). Without the right to
    make one it is a plain fork. The caller itself stays in its namespace.
    """
    try:
        home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return os.fork(), str(error)
    try:
        kernel.unshare(kernel.CLONE_NEWPID)
    except OSError as error:
        os.close(home)
        return os.fork(), str(error)
    pid = os.fork()
    if pid != 0:
        kernel.setns(home, kernel.CLONE_NEWPID)
    os.close(home)
    return pid, ""


def in_own_pid_namespace() -> bool:
    """Whether this process is process 1 of its namespace."""
    return os.getpid() == 1


def enter_user_namespace() -> None:
    """Become privileged in a user namespace of one's own, with the same uid and gid inside as outside.

    Needs a single thread. Raises OSError where the machine does not allow it.
    """
    uid, gid = os.geteuid(), os.getegid()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # the files below belong to root for a process that is not dumpable
    kernel.unshare(kernel.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
