"""How a confined build child answers: frames of JSON with an optional blob, bounded in size, read with a deadline."""

import json
import os
import select
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_HEADER: Final = struct.Struct("!II")
MAX_TEXT_BYTES: Final = 8 * 1024**2


class FrameError(ValueError):
    """The child sent something that is no frame."""


@dataclass(frozen=True)
class Frame:
    """`body` is untrusted; `blob` is the content of a file, empty for most frames."""

    body: dict[str, Any]
    blob: bytes = b""


def write(fd: int, body: dict[str, Any], blob: bytes = b"") -> None:
    """Send one frame."""
    text = json.dumps(body).encode(errors="surrogatepass")
    view = memoryview(_HEADER.pack(len(text), len(blob)) + text + blob)
    while view:
        view = view[os.write(fd, view) :]


def read(fd: int, end: float, max_blob_bytes: int) -> Iterator[Frame]:
    """Frames until the child closes its end. Raises TimeoutError at `end` (monotonic seconds) and FrameError."""
    while header := _read_exactly(fd, _HEADER.size, end):
        text_bytes, blob_bytes = _HEADER.unpack(header)
        if text_bytes > MAX_TEXT_BYTES or blob_bytes > max_blob_bytes:
            raise FrameError(f"a frame of {text_bytes} + {blob_bytes} bytes")
        try:
            body = json.loads(_read_exactly(fd, text_bytes, end))
        except (ValueError, RecursionError) as error:
            raise FrameError("not JSON") from error
        if not isinstance(body, dict):
            raise FrameError("not an object")
        yield Frame(body, _read_exactly(fd, blob_bytes, end))


def _read_exactly(fd: int, size: int, end: float) -> bytes:
    """That many bytes, or nothing at the end of the stream; a stream that ends in between raises FrameError."""
    parts: list[bytes] = []
    left = size
    while left:
        ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(fd, min(left, 1 << 20))
        if not part:
            if parts:
                raise FrameError("it ends in the middle of a frame")
            return b""
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
