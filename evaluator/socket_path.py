"""Addresses of Unix sockets, whose paths the kernel limits to 107 bytes however deep a data directory lies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATH_MAX_BYTES = 107  # sun_path of unix(7), less its last NUL


@contextmanager
def address(path: str) -> Iterator[str]:
    """A name under which the socket at `path` can be bound or reached meanwhile. Raises OSError without its folder."""
    if len(os.fsencode(path)) <= _PATH_MAX_BYTES:
        yield path
        return
    folder = os.open(Path(path).parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{Path(path).name}"
    finally:
        os.close(folder)
