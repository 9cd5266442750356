"""Ends the reading from connections that takes too long: a client that sends drop by drop must not keep a thread."""

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator


class Reading:
    """One thing that is being read; `late` once its time was up."""

    def __init__(self, connection: socket.socket, until_s: float) -> None:
        self._connection: socket.socket | None = connection
        self.until_s = until_s
        self.late = False

    @property
    def done(self) -> bool:
        return self._connection is None

    def finish(self) -> None:
        """It has been read."""
        self._connection = None

    def end(self) -> None:
        """Whoever reads finds the end of what is sent."""
        connection, self._connection, self.late = self._connection, None, True
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)


class ReadDeadlines:
    """Gives everything that is read the same time, `limit_s`. One thread, started with the first, looks after all."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._changed = threading.Condition()
        self._readings: deque[Reading] = deque()  # all have the same time, so the first ends first
        self._started = False

    @contextlib.contextmanager
    def watching(self, connection: socket.socket) -> Iterator[Reading]:
        """While something is read from this connection, or until it is said to be finished."""
        reading = Reading(connection, time.monotonic() + self.limit_s)
        with self._changed:
            self._readings.append(reading)
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="deadlines", daemon=True).start()
            if len(self._readings) == 1:
                self._changed.notify()
        try:
            yield reading
        finally:
            with self._changed:
                reading.finish()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._readings and self._readings[0].done:
                    self._readings.popleft()
                if not self._readings:
                    self._changed.wait()
                    continue
                left_s = self._readings[0].until_s - time.monotonic()
                if left_s <= 0:
                    self._readings.popleft().end()
                    continue
                # at most that long: a reading that is done leaves the queue when its time comes
                self._changed.wait(left_s)
