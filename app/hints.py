"""One ear per process for hints of what has ended, shared by all that wait for something."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from structlog import get_logger

log = get_logger(__name__)

RETRY_S = 0.5

Note = Callable[[str | None], None]


class HintListener:
    """Passes the ids in hints on to those that asked for them by name: `submission`, `batch`.

    `listen` yields hints, and None when listening has begun or nothing came for a while; it blocks, and returns or
    raises when its connection is lost. An id of None tells that some may have been missed.
    """

    def __init__(self, listen: Callable[[], Iterator[Mapping[str, Any] | None]]) -> None:
        self._listen = listen
        self._notes: dict[str, Note] = {}
        self._lock = threading.Lock()
        self._started = False

    def pass_on(self, name: str, note: Note) -> None:
        """Before `start`: have the ids that hints call `name` noted."""
        self._notes[name] = note

    def start(self) -> None:
        """Begin to listen, once: with the first who waits, since before that a server may still fork."""
        with self._lock:
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="hints", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self._pass_all_on()
            except Exception as error:  # noqa: BLE001 - whatever the broker does, waiting goes on without hints
                log.warning("hints_lost", error=repr(error))
            self._missed()
            time.sleep(RETRY_S)

    def _pass_all_on(self) -> None:
        listening = False
        for hint in self._listen():
            if hint is not None:
                for name, note in self._notes.items():
                    if hint.get(name):
                        note(str(hint[name]))
            elif not listening:
                self._missed()
            listening = True

    def _missed(self) -> None:
        for note in self._notes.values():
            note(None)
