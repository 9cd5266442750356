"""A circuit breaker: after a failure, do not touch the other side for a moment, so that its time-outs do not add up."""

import threading
import time

PAUSE_S = 0.5
PAUSE_MAX_S = 5.0


class Breaker:
    """Closed at first. Each failure opens it for longer, up to five seconds; a success closes it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pause_s = PAUSE_S
        self._closed_at = 0.0

    @property
    def open(self) -> bool:
        """Whether to leave the other side alone at present."""
        with self._lock:
            return time.monotonic() < self._closed_at

    def failed(self) -> None:
        with self._lock:
            self._closed_at = time.monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, PAUSE_MAX_S)

    def succeeded(self) -> None:
        with self._lock:
            self._pause_s, self._closed_at = PAUSE_S, 0.0
