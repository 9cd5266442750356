"""Lets a few requests of a process work at a time, while any number wait: hundreds of busy threads are nobody's gain.

Python runs one thread at a time. With hundreds that want to run, each waits for all the others whenever it has waited
for the database or the network, and so does a health check.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from flask import g

from app.error_codes import ErrorCode
from app.problems import Problem

# those before us wait for a frozen database, say, and may do so for long
PATIENCE_S = 30.0


class Turnstile:
    """`places` requests at most are inside at a time, in the order in which they came. One per process.

    Who has waited for `patience_s` is refused: 503.
    """

    def __init__(self, places: int, patience_s: float = PATIENCE_S) -> None:
        self._lock = threading.Lock()
        self._patience_s = patience_s
        self._free = places
        self._queue: deque[threading.Event] = deque()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While the present request works."""
        self._enter()
        g.inside = True
        try:
            yield
        finally:
            g.inside = False
            self._leave()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """While it waits for its client or for an end: others work meanwhile. Hold no connection of a pool here."""
        if not g.get("inside", False):
            yield
            return
        self._leave()
        try:
            yield
        finally:
            self._enter()

    def _enter(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            self._queue.append(turn)
        if not turn.wait(self._patience_s):
            self._give_up(turn)

    def _give_up(self, turn: threading.Event) -> None:
        """Raises Problem (503), unless the place was handed over at the last moment."""
        with self._lock:
            if turn.is_set():
                return
            self._queue.remove(turn)
        raise Problem(ErrorCode.BUSY, f"Those before this request took longer than {self._patience_s:g} s.")

    def _leave(self) -> None:
        """Hand the place to whoever has waited longest: a semaphore would let newcomers overtake."""
        with self._lock:
            if self._queue:
                self._queue.popleft().set()
            else:
                self._free += 1
