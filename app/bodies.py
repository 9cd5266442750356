"""Reads request bodies within a time: a client that sends its body drop by drop must not keep a thread.

What nobody has read of a body is thrown away before the answer: a server that closes a connection on which bytes still
arrive resets it, and the client may lose the very answer that says why it was refused.
"""

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from flask import Request, Response, request
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from app.error_codes import ErrorCode
from app.problems import Problem

DISCARD_BYTES_MAX = 64 * 1024 * 1024  # twice the largest batch; who sends more than that is cut off
DISCARD_CHUNK_BYTES = 256 * 1024


class _Reading:
    """One body that is being read."""

    def __init__(self, connection: socket.socket, until_s: float) -> None:
        self.connection, self.until_s = connection, until_s
        self.done = self.late = False


class BodyReader:
    """Gives each body the same time, `limit_s`. One thread ends the reading of those that take longer.

    `meanwhile` is entered while a body is read, which may take as long as the client likes.
    """

    def __init__(
        self, limit_s: float, meanwhile: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    ) -> None:
        self._limit_s, self._meanwhile = limit_s, meanwhile
        self._changed = threading.Condition()
        self._readings: deque[_Reading] = deque()  # all have the same time, so the first ends first
        self._started = False

    def read(self, request: Request) -> bytes:
        """The whole body, kept for who asks again. Raises Problem (408) where it takes too long."""
        with self._meanwhile(), self._timed(request.environ.get("gunicorn.socket")) as reading:
            try:
                body = request.get_data(cache=True)
                _require_whole(request, body)
            except (ClientDisconnected, OSError):
                if reading is None or not reading.late:
                    raise
            except ParseException as error:
                raise Problem(ErrorCode.BAD_REQUEST, f"The body is not well chunked: {error}.") from None
        if reading is not None and reading.late:
            raise Problem(ErrorCode.BODY_TOO_SLOW, f"The body did not arrive within {self._limit_s:g} s.")
        return body

    def discard_rest(self, response: Response) -> Response:
        """An after-request hook: read what is left of the body, within the same time, and keep nothing of it."""
        body, connection = request.environ["wsgi.input"], request.environ.get("gunicorn.socket")
        announced = request.content_length
        if connection is not None and announced != 0 and (announced or 0) <= DISCARD_BYTES_MAX:
            with self._timed(connection), contextlib.suppress(OSError, ParseException):
                for _ in range(DISCARD_BYTES_MAX // DISCARD_CHUNK_BYTES):
                    if not body.read(DISCARD_CHUNK_BYTES):
                        break
        return response

    @contextlib.contextmanager
    def _timed(self, connection: socket.socket | None) -> Iterator[_Reading | None]:
        if connection is None:
            yield None
            return
        reading = _Reading(connection, time.monotonic() + self._limit_s)
        with self._changed:
            self._readings.append(reading)
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="bodies", daemon=True).start()
            if len(self._readings) == 1:
                self._changed.notify()
        try:
            yield reading
        finally:
            with self._changed:
                reading.done = True

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._readings and self._readings[0].done:
                    self._readings.popleft()
                if not self._readings:
                    self._changed.wait()
                    continue
                first = self._readings[0]
                left_s = first.until_s - time.monotonic()
                if left_s <= 0:
                    self._readings.popleft()
                    first.late = True
                    with contextlib.suppress(OSError):
                        first.connection.shutdown(socket.SHUT_RD)  # whoever reads it finds its end
                    continue
                # at most that long: a reading that is done leaves the queue when its time comes
                self._changed.wait(left_s)


def _require_whole(request: Request, body: bytes) -> None:
    """Raises for less than was announced, and for more than is allowed where nothing was announced.

    Neither the server nor werkzeug says so: both hand out what there is.
    """
    announced, most = request.content_length, request.max_content_length
    if announced is not None and len(body) < announced:
        raise ClientDisconnected
    if announced is None and most is not None and len(body) >= most and request.environ["wsgi.input"].read(1):
        raise RequestEntityTooLarge
