"""What both clients do, written once: generators that ask for a request or a pause and are sent what came of it."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kernel_grader_client.errors import Problem, Unavailable, refused

PAUSE_S = 0.2
PAUSE_MAX_S = 5.0
PROXY_STATUSES = frozenset({502, 503, 504})


@dataclass(frozen=True)
class Call:
    """One HTTP request. `wait_s` is how long the server is asked to hold its answer back."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    idempotency_key: str | None = None
    wait_s: float = 0.0


@dataclass(frozen=True)
class Reply:
    """What a request came to; `error` is set where no answer came."""

    status: int = 0
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: Exception | None = None

    @property
    def retry_after_s(self) -> float | None:
        try:
            return float(self.headers["retry-after"])
        except (KeyError, ValueError):
            return None


@dataclass(frozen=True)
class Pause:
    """Sleep for this long."""

    seconds: float


T = TypeVar("T")
Steps = Generator[Call | Pause, Reply, T]


@dataclass(frozen=True)
class Patience:
    """For how long a request is repeated while the server cannot be reached or asks to come back later."""

    total_s: float = 600.0


def new_key() -> str:
    """A fresh Idempotency-Key."""
    return uuid.uuid4().hex


def request(call: Call, patience: Patience) -> Steps[Reply]:
    """Send until there is an answer that stands.

    Repeated are requests that got no answer and those that the server calls retryable: a POST only with a key, by which
    the server knows a repetition. Raises Refused or Unavailable.
    """
    if call.method == "POST" and call.idempotency_key is None:
        call = replace(call, idempotency_key=new_key())
    until, pause_s = time.monotonic() + patience.total_s, PAUSE_S
    while True:
        reply = yield call
        if reply.error is None and reply.status < 400:
            return reply
        problem = _problem(reply)
        if problem is not None and not problem.retryable:
            raise refused(problem)
        wait_s = reply.retry_after_s if reply.retry_after_s is not None else pause_s
        wait_s *= 1 + random.random() / 2  # those that were turned away together must not come back together
        if time.monotonic() + wait_s > until:
            raise Unavailable(f"{call.method} {call.path}: {problem or reply.error or reply.status}") from reply.error
        yield Pause(wait_s)
        pause_s = min(pause_s * 2, PAUSE_MAX_S)


def _problem(reply: Reply) -> Problem | None:
    """The refusal of a reply; None where nothing was heard from the server itself."""
    if reply.error is not None:
        return None
    try:
        return Problem.from_json(reply.body)
    except (KeyError, TypeError, ValueError):
        if reply.status in PROXY_STATUSES:  # something between us answered in its place
            return None
        return Problem(reply.status, "unknown", "An unexpected answer", f"HTTP {reply.status}", retryable=False)
