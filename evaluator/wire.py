"""Length-prefixed JSON between processes that do not trust each other; nothing received is ever evaluated."""

import array
import json
import math
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

_HEADER = struct.Struct("!I")
MAX_MESSAGE_BYTES = 2 * 1024 * 1024  # a source of 256 KiB is up to six times as long in JSON
MAX_FDS = 16


class WireError(Exception):
    """The peer sent something that is no message: too long, not JSON, not an object."""


class PeerClosed(WireError):
    """The peer's end of the channel is closed."""


class DeadlinePassed(WireError):
    """Nothing complete arrived in time."""


class Interrupted(WireError):
    """One of the `interrupts` became readable before a message was complete."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond the range of floats")
    return value


def encode(message: dict[str, Any]) -> bytes:
    """Frame one message. Raises ValueError for NaN or infinity, or beyond MAX_MESSAGE_BYTES."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(body)} bytes is over the limit of {MAX_MESSAGE_BYTES}")
    return _HEADER.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    """Parse one frame's body. Raises WireError for anything but a JSON object of finite numbers."""
    try:
        message = json.loads(body.decode(), parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a JSON message: {type(error).__name__}") from error
    if not isinstance(message, dict):
        raise WireError("a message must be a JSON object")
    return message


class Channel:
    """One end of a stream socket. Every wait has a deadline, and can be cut short by other descriptors."""

    def __init__(self, sock: socket.socket, *, max_bytes: int = MAX_MESSAGE_BYTES, accept_fds: bool = False) -> None:
        self._sock = sock
        self._accept_fds = accept_fds
        self._sock.setblocking(False)
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._fds: list[int] = []

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def peer_gone(self) -> bool:
        """Whether the peer's end is closed, as far as that is known without reading."""
        poller = select.poll()
        poller.register(self._sock, select.POLLRDHUP)
        return bool(poller.poll(0))

    def send(self, message: dict[str, Any], *, fds: Sequence[int] = (), deadline_s: float = 30.0) -> None:
        """Write one message, with file descriptors on its first byte. Raises PeerClosed or DeadlinePassed."""
        data = memoryview(encode(message))
        end = time.monotonic() + deadline_s
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while data:
            try:
                sent = self._sock.sendmsg([data], ancillary, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                remaining = end - time.monotonic()
                if remaining <= 0 or not select.select([], [self._sock], [], remaining)[1]:
                    raise DeadlinePassed("the peer does not read") from None
                continue
            except OSError as error:
                raise PeerClosed(str(error)) from error
            data, ancillary = data[sent:], []

    def receive(self, *, deadline_s: float | None, interrupts: Sequence[int] = ()) -> dict[str, Any]:
        """Read one message within `deadline_s` seconds (None: no limit).

        Raises DeadlinePassed, Interrupted, PeerClosed, or WireError for what is no message.
        """
        end = None if deadline_s is None else time.monotonic() + deadline_s
        while True:
            body = self._take_frame()
            if body is not None:
                return decode(body)
            remaining = None if end is None else end - time.monotonic()
            if remaining is not None and remaining <= 0:
                raise DeadlinePassed("no message in time")
            self._wait_readable(remaining, interrupts)
            self._read_some()

    def take_fds(self) -> list[int]:
        """The file descriptors that arrived so far; the caller owns them."""
        fds, self._fds = self._fds, []
        return fds

    def _take_frame(self) -> bytes | None:
        if len(self._buffer) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self._buffer)
        if length > self._max_bytes:
            raise WireError(f"a message of {length} bytes is over the limit of {self._max_bytes}")
        end = _HEADER.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_HEADER.size : end])
        del self._buffer[:end]
        return body

    def _wait_readable(self, timeout_s: float | None, interrupts: Sequence[int]) -> None:
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        for fd in interrupts:
            poller.register(fd, select.POLLIN)
        ready = {fd for fd, _ in poller.poll(None if timeout_s is None else timeout_s * 1000)}
        if not ready.isdisjoint(interrupts):  # first: a peer that never stops sending must not put it off
            raise Interrupted("interrupted")

    def _read_some(self) -> None:
        try:
            # Without room for them the kernel drops descriptors, so a hostile peer cannot fill our table.
            room = socket.CMSG_SPACE(MAX_FDS * 4) if self._accept_fds else 0
            data, ancillary, _, _ = self._sock.recvmsg(65536, room)
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerClosed(str(error)) from error
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
                self._fds.extend(received)
        if not data:
            raise PeerClosed("end of file")
        self._buffer += data
