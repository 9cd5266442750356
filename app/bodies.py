"""Reads request bodies within a time: a client that sends its body drop by drop must not keep a thread."""

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator

from flask import Request
from werkzeug.exceptions import ClientDisconnected

from app.error_codes import ErrorCode
from app.problems import Problem


class _Reading:
    """One body that is being read."""

    def __init__(self, connection: socket.socket, until_s: float) -> None:
        self.connection, self.until_s = connection, until_s
        self.done = self.late = False


class BodyReader:
    """Gives each body the same time, `limit_s`. One thread ends the reading of those that take longer."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._changed = threading.Condition()
        self._readings: deque[_Reading] = deque()  # all have the same time, so the first ends first
        self._started = False

    def read(self, request: Request) -> bytes:
        """The whole body, kept for who asks again. Raises Problem (408) where it takes too long."""
        with self._timed(request.environ.get("gunicorn.socket")) as reading:
            try:
                body = request.get_data(cache=True)
            except (ClientDisconnected, OSError):
                if reading is None or not reading.late:
                    raise
        if reading is not None and reading.late:
            raise Problem(ErrorCode.BODY_TOO_SLOW, f"The body did not arrive within {self._limit_s:g} s.")
        return body

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
