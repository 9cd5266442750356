"""A scratch folder on disk, for machines where a runner can have no private file system."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final, Self

_PREFIX: Final = "kernel-grader-scratch-"
#: A folder is made before it is locked: younger ones are not taken for stale.
_STALE_AFTER_S: Final = 60.0


class Scratch:
    """One folder per leash below the system's temporary folder, where the slot's uid can reach it.

    It is locked while in use: one without a lock was left by a crash, and the next maker removes it.
    """

    def __init__(self, path: Path, lock_fd: int) -> None:
        self.path = path
        self._lock_fd = lock_fd

    @classmethod
    def take(cls, name: str) -> Self:
        """A fresh folder, after removing what crashed graders of this user left."""
        _sweep()
        path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{name}-"))
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return cls(path, fd)

    def empty(self) -> None:
        """Remove what is in it, and take it back from the runner's user."""
        for entry in self.path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        os.chown(self.path, os.geteuid(), os.getegid())
        self.path.chmod(0o700)

    def remove(self) -> None:
        """Remove it for good."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock_fd)


def _sweep() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime < _STALE_AFTER_S:
                continue
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(fd)
