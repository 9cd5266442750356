"""A load generator that costs little itself: HTTP/1.1 on plain asyncio protocols, times taken as bytes arrive.

On two cores that server and client share, a full HTTP client would measure itself.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any


class Answer:
    """One response; `at_s` is when its last byte was there, by the monotonic clock that all processes share."""

    def __init__(self, status: int, body: bytes, at_s: float) -> None:
        self.status, self.body, self.at_s = status, body, at_s

    def json(self) -> Any:
        return json.loads(self.body)


class Connection(asyncio.Protocol):
    """One kept-alive connection, one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length = -1
        self._head_end = 0
        self._waiter: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, host: str, port: int) -> "Connection":
        _, made = await asyncio.get_running_loop().create_connection(cls, host, port)
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    async def send(self, request: bytes) -> Answer:
        """Send a whole request and return the whole answer. Raises ConnectionError where it breaks off."""
        assert self._transport is not None
        self._buffer.clear()
        self._length = -1
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiter

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._length < 0:
            self._head_end = self._buffer.find(b"\r\n\r\n") + 4
            if self._head_end < 4:
                return
            head = bytes(self._buffer[: self._head_end]).lower()
            start = head.index(b"content-length:") + 15
            self._length = int(head[start : head.index(b"\r", start)])
        if len(self._buffer) >= self._head_end + self._length and self._waiter is not None:
            status = int(self._buffer[9:12])
            self._waiter.set_result(Answer(status, bytes(self._buffer[self._head_end :]), time.monotonic()))
            self._waiter = None

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionError("the server closed the connection"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def get(path: str, headers: Mapping[str, str] | None = None) -> bytes:
    """A whole GET request."""
    return _request("GET", path, b"", headers or {})


def post(path: str, body: Any, headers: Mapping[str, str] | None = None) -> bytes:
    """A whole POST request with a JSON body."""
    content = json.dumps(body).encode()
    return _request("POST", path, content, {"Content-Type": "application/json", **(headers or {})})


def _request(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
