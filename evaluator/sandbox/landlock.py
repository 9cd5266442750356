"""Landlock with what the kernel offers: files, signals and sockets, for the calling thread and those it starts."""

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from evaluator.sandbox import kernel

_NR_CREATE_RULESET, _NR_ADD_RULE, _NR_RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_RESTRICT_ALL_THREADS = 1 << 3

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
DEVICE: Final = _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_FILE_RIGHTS: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

#: ABI version -> number of file-system rights that it knows (lowest bits first).
_FS_BITS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_ALL: Final = 0b11
_SCOPE_ALL: Final = 0b11
_ABI_NET, _ABI_SCOPE, _ABI_ALL_THREADS = 4, 6, 8


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi() -> int:
    """The kernel's Landlock version; raises OSError where there is none."""
    return kernel.syscall("landlock_create_ruleset", _NR_CREATE_RULESET, None, 0, _VERSION_FLAG)


def restrict(*, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> str:
    """Allow reading and executing beneath `readable`, everything beneath `writable`, reading and writing `devices`.

    Everything else on the file system, TCP, signals to and abstract sockets of processes outside are refused, as
    far as the kernel's version goes. Needs no_new_privs. Returns a note, raises OSError.
    """
    version = abi()
    everything = (1 << _FS_BITS[min(version, max(_FS_BITS))]) - 1
    ruleset = _Ruleset(
        fs=everything,
        net=_NET_ALL if version >= _ABI_NET else 0,
        scoped=_SCOPE_ALL if version >= _ABI_SCOPE else 0,
    )
    fd = kernel.syscall("landlock_create_ruleset", _NR_CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    try:
        for paths, rights in ((readable, READ), (writable, everything), (devices, DEVICE)):
            for path in paths:
                # what cannot even be opened needs no rule
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    _allow(fd, path, rights & everything)
        all_threads = version >= _ABI_ALL_THREADS
        kernel.syscall("landlock_restrict_self", _NR_RESTRICT_SELF, fd, _RESTRICT_ALL_THREADS if all_threads else 0)
    finally:
        os.close(fd)
    others = len(list(Path("/proc/self/task").iterdir())) - 1
    bound = "all threads" if all_threads or not others else f"not the {others} threads started before"
    return f"ABI {version}, {bound}"


def _allow(ruleset_fd: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_RIGHTS
        rule = _PathBeneath(allowed=rights, parent_fd=fd)
        kernel.syscall(
            "landlock_add_rule", _NR_ADD_RULE, ruleset_fd, _RULE_PATH_BENEATH, ctypes.byref(rule), 0, subject=path
        )
    finally:
        os.close(fd)
