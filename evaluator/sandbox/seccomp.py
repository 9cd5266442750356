"""A seccomp filter assembled by hand: refuses, for every thread, the calls that no kernel under test needs."""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from evaluator.sandbox import kernel
from evaluator.sandbox.syscall_table import DENIED, GUARDED

_LOAD, _AND, _JUMP_EQUAL, _JUMP_GE, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_OFFSET_NR, _OFFSET_ARCH, _OFFSET_ARGS = 0, 4, 16
_X32_BIT = 0x40000000
_WORD = 0xFFFFFFFF

#: machine -> (column of the table, audit architecture, number of seccomp(2))
_MACHINES: Final = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}

_NAMESPACE_FLAGS = 0x7E020000 | 0x00008000  # CLONE_NEW* that clone(2) takes, and CLONE_PARENT: a child nobody awaits
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF
_SIGN = 0x80000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_PRCTL_DENIED = (1, 36, 0x59616D61, 35)  # PDEATHSIG, CHILD_SUBREAPER, PTRACER, MM


@dataclass(frozen=True)
class When:
    """Where argument `arg`'s 32-bit word (low, or high), masked, is one of `values` (`equal`), or is not."""

    arg: int
    values: tuple[int, ...]
    mask: int = _WORD
    equal: bool = True
    high: bool = False

    def instructions(self, action: int) -> list[bytes]:
        """Return `action` where the condition holds; fall through otherwise. Destroys the accumulator."""
        code = [_op(_LOAD, _OFFSET_ARGS + 8 * self.arg + (4 if self.high else 0))]
        if self.mask != _WORD:
            code.append(_op(_AND, self.mask))
        for value in self.values:
            code.append(_op(_JUMP_EQUAL, value, *((0, 1) if self.equal else (1, 0))))
            code.append(_op(_RETURN, action))
        return code


def _guards(shielded_pids: Iterable[int], aimed: dict[str, int]) -> list[tuple[str, When]]:
    guards = [
        ("clone", When(0, (0,), mask=_NAMESPACE_FLAGS, equal=False)),
        ("socketpair", When(0, (_AF_UNIX,), equal=False)),
        ("socketpair", When(1, (_SOCK_STREAM,), mask=_SOCK_TYPE_MASK, equal=False)),
        ("sendto", When(4, (0,), equal=False)),
        ("sendto", When(4, (0,), equal=False, high=True)),
        ("prctl", When(0, _PRCTL_DENIED)),
        ("ioctl", When(1, (_TIOCSTI, _TIOCLINUX))),
        ("kill", When(0, (_SIGN,), mask=_SIGN)),
        ("prlimit64", When(0, (0,), equal=False)),
        ("migrate_pages", When(0, (0,), equal=False)),
        ("move_pages", When(0, (0,), equal=False)),
        ("setpriority", When(0, (0,), equal=False)),
        ("ioprio_set", When(0, (1,), equal=False)),
    ]
    pids = tuple(pid for pid in shielded_pids if pid > 0)
    if pids:
        guards += [(name, When(arg, pids)) for name, arg in aimed.items()]
    return guards


#: Calls that act on another process, and which argument names it.
_AIMED: Final = {
    "kill": 0, "tkill": 0, "tgkill": 0, "rt_sigqueueinfo": 0, "rt_tgsigqueueinfo": 0, "pidfd_open": 0,
    "sched_setaffinity": 0, "sched_setscheduler": 0, "sched_setparam": 0, "sched_setattr": 0,
    "setpriority": 1, "ioprio_set": 1,
}  # fmt: skip


def _op(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, jump_true, jump_false, k)


def assemble(shielded_pids: Iterable[int], machine: str) -> bytes:
    """The filter's instructions for `machine` (x86_64 or aarch64; KeyError for others)."""
    column, audit_arch, _ = _MACHINES[machine]
    refuse, absent = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    code = [
        _op(_LOAD, _OFFSET_ARCH),
        _op(_JUMP_EQUAL, audit_arch, 1, 0),
        _op(_RETURN, refuse),
        _op(_LOAD, _OFFSET_NR),
        _op(_JUMP_GE, _X32_BIT, 0, 1),
        _op(_RETURN, refuse),
    ]
    for name, numbers in DENIED.items():
        number = numbers[column]
        if number is not None:
            code += [_op(_JUMP_EQUAL, number, 0, 1), _op(_RETURN, absent if name.startswith("io_uring") else refuse)]
    number = GUARDED["clone3"][column]
    assert number is not None
    # its flags are behind a pointer, out of a filter's reach; C libraries fall back to clone
    code += [_op(_JUMP_EQUAL, number, 0, 1), _op(_RETURN, absent)]
    for name, when in _guards(shielded_pids, _AIMED):
        number = GUARDED[name][column]
        if number is None:
            continue
        body = [*when.instructions(refuse), _op(_LOAD, _OFFSET_NR)]
        code += [_op(_JUMP_EQUAL, number, 0, len(body)), *body]
    code.append(_op(_RETURN, _ALLOW))
    return b"".join(code)


def install(shielded_pids: Iterable[int]) -> str:
    """Filter every thread of this process for good; needs no_new_privs. Returns a note, raises OSError."""
    machine = platform.machine()
    if machine not in _MACHINES:
        raise OSError(errno.ENOSYS, f"no system call table for {machine}")
    code = assemble(shielded_pids, machine)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    program = Program(len(code) // 8, ctypes.addressof(buffer))
    filter_mode, all_threads = 1, 1
    refused = kernel.syscall("seccomp", _MACHINES[machine][2], filter_mode, all_threads, ctypes.byref(program))
    if refused:
        raise OSError(errno.EBUSY, f"seccomp: thread {refused} could not be bound")
    return f"{len(code) // 8} instructions, all threads"
