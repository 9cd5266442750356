"""Finished extensions by content, and locks per content that end with the process that holds them."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from evaluator.errors import GraderFault

_POLL_S = 0.1


class ArtifactCache:
    """`get`, else under `lock` `get` again and `put`. Several processes of a machine may share the folder.

    Only trusted code may write to it: whoever can, decides what candidates of others run.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        for name in ("artifacts", "locks", "incoming"):
            (self._folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)

    def get(self, key: str, file_name: str) -> Path | None:
        """The artifact, marked as used now; None if there is none."""
        path = self._path(key, file_name)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def put(self, key: str, file_name: str, content: bytes) -> Path:
        """Store an artifact; it appears whole or not at all."""
        path = self._path(key, file_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder / "incoming")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).rename(path)
        return path

    @contextlib.contextmanager
    def lock(self, key: str, *, deadline_s: float) -> Iterator[None]:
        """Hold the key alone; the kernel frees it when the holder dies. Raises GraderFault at the deadline."""
        end = time.monotonic() + deadline_s
        fd = os.open(self._folder / "locks" / key, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            while not _try_lock(fd):
                if time.monotonic() > end:
                    raise GraderFault("build_lock", f"another builder has held {key[:12]} for {deadline_s} s")
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(fd)

    def prune(self, max_bytes: int) -> int:
        """Remove the least recently used artifacts until the rest fits; returns the bytes that are left."""
        found = []
        for path in (self._folder / "artifacts").glob("*/*/*"):
            with contextlib.suppress(FileNotFoundError):
                found.append((path.stat().st_mtime, path.stat().st_size, path))
        left = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if left <= max_bytes:
                break
            shutil.rmtree(path.parent, ignore_errors=True)
            left -= size
        return left

    def _path(self, key: str, file_name: str) -> Path:
        return self._folder / "artifacts" / key[:2] / key / file_name


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
