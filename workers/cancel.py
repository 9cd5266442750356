"""Hears of cancellations, so that a running grade looks at its fence at once instead of at its next renewal."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import redis
from structlog import get_logger

from grading.events import CANCELLED, hints

log = get_logger(__name__)

RETRY_S = 1.0


class CancelWatch:
    """One listening thread per process, started with the first grade."""

    def __init__(self, redis_url: str) -> None:
        self._url = redis_url
        self._lock = threading.Lock()
        self._watched: dict[str, Callable[[], None]] = {}
        self._thread: threading.Thread | None = None
        self.listening = False

    @contextlib.contextmanager
    def watching(self, submission_id: str, look: Callable[[], None]) -> Iterator[None]:
        """Call `look` when this submission may have been cancelled, and whenever a hint may have been missed."""
        with self._lock:
            self._watched[submission_id] = look
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cancel-watch", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._watched.pop(submission_id, None)

    def _run(self) -> None:
        while True:
            try:
                self._listen()
            except (redis.RedisError, OSError) as error:
                log.warning("cancel_watch_lost", error=repr(error))
            self.listening = False
            time.sleep(RETRY_S)

    def _listen(self) -> None:
        for hint in hints(self._url, CANCELLED):
            if hint is not None:
                self._look(str(hint.get("submission")))
            elif not self.listening:
                self.listening = True
                self._look(None)

    def _look(self, submission_id: str | None) -> None:
        """Have one grade look at its fence, or all of them."""
        with self._lock:
            looks = [look for key, look in self._watched.items() if submission_id in (None, key)]
        for look in looks:
            look()
