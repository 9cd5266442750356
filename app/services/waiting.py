"""Waiting for a row on behalf of a request, until it suffices, the time is up or the client has gone."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from app.context import Context
from app.waiters import Waiters
from grading.models import Batch, Submission

Row = TypeVar("Row", Submission, Batch)


@dataclass(frozen=True)
class Wait:
    """How long a request wants to wait, and its connection, where the server knows it."""

    seconds: float = 0.0
    connection: socket.socket | None = None


def wait_for(
    ctx: Context,
    waiters: Waiters[Row],
    object_id: str,
    wait: Wait,
    read: Callable[[], Row],
    suffices: Callable[[Row], bool],
) -> tuple[Row, bool]:
    """(the row as it is after the wait, whether too many waited already, so that this request did not)."""
    if wait.seconds <= 0:
        return read(), False
    with waiters.ticket(object_id, suffices) as ticket:
        row = read()  # only now: nothing that happens later escapes the ticket
        if ticket is None or suffices(row):
            return row, ticket is None and not suffices(row)
        with ctx.turnstile.outside(), ctx.hangups.watching(wait.connection, ticket.wake):
            found = ticket.wait(wait.seconds)
        return found or read(), False
