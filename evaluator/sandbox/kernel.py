"""The few Linux calls that Python does not offer, through ctypes; each raises OSError with the call's name."""

import ctypes
import os
import platform
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2
MOUNT_ATTR_RDONLY: Final = 1
MOUNT_ATTR_NOSUID: Final = 2
MOUNT_ATTR_NODEV: Final = 4

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_OPEN_TREE_CLOEXEC = os.O_CLOEXEC
_MOVE_MOUNT_F_EMPTY_PATH = 4

_X86 = platform.machine() == "x86_64"
_NR_PIVOT_ROOT = 155 if _X86 else 41
_NR_CAPSET = 126 if _X86 else 91
_NR_OPEN_TREE = 428
_NR_MOVE_MOUNT = 429
_NR_MOUNT_SETATTR = 442

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _checked(name: str, result: int, subject: str = "") -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}{f' ({subject})' if subject else ''}")
    return result


def syscall(name: str, number: int, *args: object, subject: str = "") -> int:
    """Make a raw system call; integers are passed as C longs, everything else as ctypes converts it."""
    values = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(name, _libc.syscall(ctypes.c_long(number), *values), subject)


def prctl(option: int, *args: int) -> int:
    """`prctl` with up to four arguments, zeros for the rest."""
    values = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    return _checked(f"prctl({option})", _libc.prctl(ctypes.c_int(option), *values))


def unshare(flags: int) -> None:
    """Leave the namespaces named by CLONE_NEW* flags for fresh ones."""
    _checked("unshare", _libc.unshare(ctypes.c_int(flags)), hex(flags))


def setns(fd: int, kind: int) -> None:
    """Join the namespace that `fd` refers to."""
    _checked("setns", _libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """`mount(2)`, for new file systems and for propagation changes."""
    _checked("mount", _libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()), target)


def unmount(target: str) -> None:
    """Detach whatever is mounted on `target`."""
    _checked("umount2", _libc.umount2(target.encode(), ctypes.c_int(MNT_DETACH)), target)


def clone_tree(path: str, *, attributes: int) -> int:
    """A detached copy of the mounts at and under `path`, with `attributes` set on all of them; returns its fd."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    fd = syscall("open_tree", _NR_OPEN_TREE, _AT_FDCWD, path.encode(), flags, subject=path)
    try:
        _set_attributes(fd, "", attributes, _AT_EMPTY_PATH | _AT_RECURSIVE)
    except OSError:
        os.close(fd)
        raise
    return fd


def attach_tree(fd: int, target: str) -> None:
    """Mount what `clone_tree` returned on `target`, and close it."""
    try:
        syscall(
            "move_mount", _NR_MOVE_MOUNT, fd, b"", _AT_FDCWD, target.encode(), _MOVE_MOUNT_F_EMPTY_PATH, subject=target
        )
    finally:
        os.close(fd)


def make_read_only(target: str) -> None:
    """Make the one mount at `target` read-only, not those beneath it."""
    _set_attributes(_AT_FDCWD, target, MOUNT_ATTR_RDONLY, 0)


def _set_attributes(fd: int, path: str, attributes: int, flags: int) -> None:
    attr = _MountAttr(attr_set=attributes)
    where = (fd, path.encode(), flags)
    syscall("mount_setattr", _NR_MOUNT_SETATTR, *where, ctypes.byref(attr), ctypes.sizeof(attr), subject=path)


def pivot_root_here() -> None:
    """Make the working directory, a mount point, the root, and detach the old root."""
    syscall("pivot_root", _NR_PIVOT_ROOT, b".", b".")
    unmount(".")
    os.chdir("/")


def bound_capabilities() -> None:
    """Empty this thread's ambient and bounding sets, while it still has the right to."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(_last_capability() + 1):
        prctl(PR_CAPBSET_DROP, capability)


def clear_capabilities() -> None:
    """Give up every capability that this thread holds."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    syscall("capset", _NR_CAPSET, ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap") as file:
        return int(file.read())
