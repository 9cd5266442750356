"""Lets many requests of one process wait for submissions and batches, at the cost of one batched read per wake-up."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

from structlog import get_logger

log = get_logger(__name__)

Row = TypeVar("Row")

LOOK_ANYWAY_S = 2.0
RETRY_S = 0.5
# so many hints at once are a storm, and the next ones are on their way: all that are waited for are read together
STORM = 16
# hundreds of threads that run at once get in each other's way (a thousand ends at once: answered in 0.9 s, this way in
# 0.6 s), so as many are woken at a time; one that lingers holds up the others no longer than this
PORTION = 8
PORTION_S = 0.05


class Room:
    """Places for waiting requests, shared by all that may be waited for; `entered` and `left` are told of each."""

    def __init__(
        self, places: int, entered: Callable[[], None] = lambda: None, left: Callable[[], None] = lambda: None
    ) -> None:
        self._lock = threading.Lock()
        self._entered, self._left = entered, left
        self._places, self._taken = places, 0

    @property
    def taken(self) -> int:
        return self._taken

    def enter(self) -> bool:
        """Whether there was a place; `leave` gives it back."""
        with self._lock:
            if self._taken >= self._places:
                return False
            self._taken += 1
        self._entered()
        return True

    def leave(self) -> None:
        with self._lock:
            self._taken -= 1
        self._left()


class Ticket(Generic[Row]):
    """One waiting request, for a row that `suffices`."""

    def __init__(self, suffices: Callable[[Row], bool]) -> None:
        self.suffices = suffices
        self._event = threading.Event()
        self._row: Row | None = None
        self.left = threading.Event()

    def wait(self, timeout_s: float) -> Row | None:
        """The row, or None when the time is up, the client has gone or the process is closing."""
        self._event.wait(timeout_s)
        return self._row

    def wake(self, row: Row | None = None) -> None:
        self._row = row
        self._event.set()


class Waiters(Generic[Row]):
    """A registry of tickets and one reader.

    `read` returns, of the ids given, the rows that somebody may be waiting for. `begun` is called when somebody waits.
    Hints, by `note`, only make answers quicker: every two seconds all waiting ids are looked at anyway.
    """

    def __init__(
        self,
        read: Callable[[Collection[str]], Mapping[str, Row]],
        room: Room,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        self._read, self._room, self._begun = read, room, begun
        self._changed = threading.Condition()
        self._tickets: dict[str, list[Ticket[Row]]] = {}
        self._hinted: set[str] = set()
        self._started = False
        self._closed = False

    @contextmanager
    def ticket(
        self, object_id: str, suffices: Callable[[Row], bool] = lambda row: True
    ) -> Iterator[Ticket[Row] | None]:
        """Register before reading the row, so that no end falls between; None where too many wait already."""
        if not self._room.enter():
            yield None
            return
        ticket = Ticket(suffices)
        try:
            yield ticket if self._register(object_id, ticket) else None
        finally:
            self._forget(object_id, ticket)
            self._room.leave()
            ticket.left.set()

    def _register(self, object_id: str, ticket: Ticket[Row]) -> bool:
        with self._changed:
            if self._closed:
                return False
            self._tickets.setdefault(object_id, []).append(ticket)
            self._start()
            return True

    def close(self) -> None:
        """Answer everybody at once; used when the process ends."""
        with self._changed:
            self._closed = True
            tickets = [ticket for group in self._tickets.values() for ticket in group]
            self._changed.notify_all()
        for ticket in tickets:
            ticket.wake()

    def _forget(self, object_id: str, ticket: Ticket[Row]) -> None:
        with self._changed:
            group = self._tickets.get(object_id, [])
            with suppress(ValueError):
                group.remove(ticket)
            if not group:
                self._tickets.pop(object_id, None)

    def _start(self) -> None:
        """The thread starts with the first waiter: before that, a server may still fork."""
        if not self._started:
            self._started = True
            threading.Thread(target=self._read_loop, name="waiters", daemon=True).start()
            self._begun()

    def note(self, object_id: str | None) -> None:
        """Something may have happened to this object, or to any where it is None."""
        with self._changed:
            if object_id is None:
                self._hinted.update(self._tickets)
            elif object_id in self._tickets:
                self._hinted.add(object_id)
            if self._hinted:
                self._changed.notify_all()

    def _read_loop(self) -> None:
        looked_at = time.monotonic()
        while not self._closed:
            with self._changed:
                self._changed.wait_for(lambda: self._hinted or self._closed, timeout=LOOK_ANYWAY_S)
                if time.monotonic() - looked_at >= LOOK_ANYWAY_S:
                    self._hinted.update(self._tickets)
                    looked_at = time.monotonic()
                wanted = self._hinted & self._tickets.keys()
                if len(wanted) >= STORM:
                    wanted = set(self._tickets)
                self._hinted = set()
            if wanted and not self._serve(wanted):
                time.sleep(RETRY_S)

    def _serve(self, wanted: set[str]) -> bool:
        """Read the rows and wake those who wait for them; False where the read failed and is to be tried again."""
        try:
            rows = self._read(wanted)
        except Exception as error:  # noqa: BLE001 - the database may be away for minutes; nobody may be forgotten
            log.warning("waiters_read_failed", error=repr(error))
            with self._changed:
                self._hinted |= wanted
            return False
        with self._changed:
            woken = [
                (ticket, row)
                for key, row in rows.items()
                for ticket in self._tickets.get(key, ())
                if ticket.suffices(row)
            ]
        for number, (ticket, row) in enumerate(woken, start=1):
            ticket.wake(row)
            if number % PORTION == 0:
                ticket.left.wait(PORTION_S)
        return True
