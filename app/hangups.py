"""Notices clients that go away while they wait, so that nobody's thread waits for them."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator

GONE = getattr(select, "EPOLLRDHUP", 0)


class Hangups:
    """One thread watches the connections of all waiting requests. Does nothing where the system has no epoll."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, Callable[[], None]] = {}
        self._epoll: select.epoll | None = None

    @contextlib.contextmanager
    def watching(self, connection: socket.socket | None, on_gone: Callable[[], None]) -> Iterator[None]:
        """Call `on_gone`, from another thread, if the other side of `connection` closes while the block runs."""
        descriptor = -1 if connection is None else connection.fileno()
        if descriptor < 0 or not GONE:
            yield
            return
        self._watch(descriptor, on_gone)
        try:
            yield
        finally:
            self._forget(descriptor)

    def _watch(self, descriptor: int, on_gone: Callable[[], None]) -> None:
        with self._lock:
            if self._epoll is None:  # only now: before the first request a server may still fork
                self._epoll = select.epoll()
                threading.Thread(target=self._run, args=[self._epoll], name="hangups", daemon=True).start()
            self._watched[descriptor] = on_gone
            self._epoll.register(descriptor, GONE)

    def _forget(self, descriptor: int) -> Callable[[], None] | None:
        with self._lock:
            if self._epoll is not None:
                with contextlib.suppress(OSError):  # it was forgotten already
                    self._epoll.unregister(descriptor)
            return self._watched.pop(descriptor, None)

    def _run(self, epoll: select.epoll) -> None:
        while True:
            for descriptor, _ in epoll.poll():
                on_gone = self._forget(descriptor)
                if on_gone is not None:
                    on_gone()
