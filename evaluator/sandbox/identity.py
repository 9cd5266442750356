"""Becoming the slot's own unprivileged user, and an environment that fits one without a passwd entry."""

import os
import tempfile

from evaluator.sandbox import kernel

_DEFAULT_PATH = "/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def become(uid: int, gid: int) -> None:
    """Drop groups, then gid, then uid, on every thread (glibc sees to that); verifies that there is no way back."""
    kernel.bound_capabilities()
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid) or os.getgroups() not in ([], [gid]):
        raise OSError("the kernel kept the old identity")


def set_environment(scratch: str) -> None:
    """Point everything that looks for a home, a user or a cache at the scratch, and stand in it."""
    os.environ.update(
        USER="runner",
        LOGNAME="runner",
        HOME=scratch,
        TMPDIR=scratch,
        XDG_CACHE_HOME=f"{scratch}/cache",
        TRITON_HOME=scratch,
        TRITON_CACHE_DIR=f"{scratch}/triton",
        TORCH_EXTENSIONS_DIR=f"{scratch}/torch_extensions",
        TORCHINDUCTOR_CACHE_DIR=f"{scratch}/inductor",
        CUDA_CACHE_PATH=f"{scratch}/cuda",
    )
    os.environ.setdefault("PATH", _DEFAULT_PATH)
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    tempfile.tempdir = None  # cached by whatever asked first, before there was a scratch
    os.chdir(scratch)
