"""The contract in steps: episodes, submissions, waits and batches, without a word about how bytes travel."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_grader_client.errors import Problem, Unavailable
from kernel_grader_client.items import Ended, Item
from kernel_grader_client.models import EpisodeState, Submission
from kernel_grader_client.steps import Call, Patience, Pause, Reply, Steps, new_key, request

WAIT_S = 60.0
# an answer that came sooner, and brought nothing, must not be asked for again at once
QUICK_S = 0.5
BATCH_ITEMS_MAX = 256
BATCH_BYTES_MAX = 24 * 1024 * 1024


@dataclass(frozen=True)
class Protocol:
    """`wait_s` is what the server is asked for at a time; longer waits are several."""

    patience: Patience = field(default_factory=Patience)
    wait_s: float = WAIT_S

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Steps[Any]:
        """The JSON of a GET, or its text; None in `params` leaves a parameter out, several values are one list."""
        call = Call("GET", path, {name: _spelled(value) for name, value in _given(params or {}).items()})
        return (yield from request(call, self.patience)).body

    def post(self, path: str, body: Any = None) -> Steps[Any]:
        """The JSON of a POST, sent under a key of its own."""
        return (yield from request(Call("POST", path, json=body), self.patience)).body

    def open_episode(self, body: Mapping[str, Any]) -> Steps[EpisodeState]:
        return EpisodeState.from_json((yield from self.post("/episodes", _given(body))))

    def episode(self, episode_id: str) -> Steps[EpisodeState]:
        return EpisodeState.from_json((yield from self.get(f"/episodes/{episode_id}")))

    def submit(self, body: Mapping[str, Any], *, key: str | None = None, wait_s: float = 0.0) -> Steps[Submission]:
        call = Call("POST", "/submissions", _wait_params(wait_s), _given(body), key or new_key(), wait_s)
        return Submission.from_json((yield from request(call, self.patience)).body)

    def wait(self, submission: Submission | str, timeout_s: float | None = None) -> Steps[Submission]:
        """The submission once it has ended, or as it is after `timeout_s`."""
        if isinstance(submission, Submission) and submission.finished:
            return submission
        name = submission if isinstance(submission, str) else submission.id
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            wait_s = self._next_wait_s(until)
            started = time.monotonic()
            call = Call("GET", f"/submissions/{name}", _wait_params(wait_s), wait_s=wait_s)
            reply = yield from request(call, self.patience)
            found = Submission.from_json(reply.body)
            if found.finished or (until is not None and time.monotonic() >= until):
                return found
            yield from _not_at_once(reply, started)

    def grade(self, body: Mapping[str, Any], tries: int = 1) -> Steps[Submission]:
        """Submit and wait for the end; once more while it was not graded and the server sees hope, `tries` in all."""
        base = new_key()
        for number in range(1, max(tries, 1) + 1):
            submission = yield from self.submit(body, key=f"{base}-{number}", wait_s=self.wait_s)
            submission = yield from self.wait(submission)
            if submission.graded or submission.failure is None or not submission.failure.retryable:
                break
        return submission

    def create_batch(self, items: Sequence[Item], run_id: str | None) -> Steps[str]:
        """The id of a new batch."""
        body = _given({"run_id": run_id, "items": [item.to_json() for item in items]})
        batch: Any = yield from self.post("/batches", body)
        return str(batch["id"])

    def next_endings(self, batch_id: str, cursor: str) -> Steps[tuple[list[Ended], str | None]]:
        """(what ended after the cursor, at least one item; the next cursor, None after the last)."""
        while True:
            started = time.monotonic()
            params = {"cursor": cursor, "until": "any", **_wait_params(self.wait_s)}
            call = Call("GET", f"/batches/{batch_id}", params, wait_s=self.wait_s)
            reply = yield from request(call, self.patience)
            if reply.body["data"] or reply.body["next_cursor"] is None:
                return [_ended(entry) for entry in reply.body["data"]], reply.body["next_cursor"]
            yield from _not_at_once(reply, started)

    def turned_away(self, since: float, problem: Problem | None) -> Steps[None]:
        """Before items that there was no room for are sent again. Raises Unavailable when patience has run out."""
        if time.monotonic() - since > self.patience.total_s:
            raise Unavailable(f"items of a batch were refused for too long: {problem}")
        yield Pause(1.0)

    def _next_wait_s(self, until: float | None) -> float:
        return self.wait_s if until is None else min(max(until - time.monotonic(), 0.0), self.wait_s)


def split(items: Sequence[Item]) -> list[list[Item]]:
    """Batches of no more items and bytes than a server takes, in order.

    Raises ValueError where two items have one name: what came of which could not be told.
    """
    names = Counter(item.custom_id for item in items)
    if len(names) < len(items):
        twice = sorted(name for name, count in names.items() if count > 1)
        raise ValueError(f"two items have the same custom_id: {', '.join(twice[:3])}")
    batches: list[list[Item]] = []
    size = 0
    for item in items:
        item_bytes = len(json.dumps(item.to_json()))
        if not batches or len(batches[-1]) >= BATCH_ITEMS_MAX or size + item_bytes > BATCH_BYTES_MAX:
            batches.append([])
            size = 0
        batches[-1].append(item)
        size += item_bytes
    return batches


def _ended(entry: Mapping[str, Any]) -> Ended:
    submission, problem = entry["submission"], entry["problem"]
    return Ended(
        custom_id=entry["custom_id"],
        submission=None if submission is None else Submission.from_json(submission),
        problem=None if problem is None else Problem.from_json(problem),
    )


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _spelled(value: Any) -> Any:
    """As it stands in a query."""
    return value if isinstance(value, str | int | float) else ",".join(value)


def _wait_params(wait_s: float) -> dict[str, Any]:
    return {"wait": f"{wait_s:.3f}"} if wait_s > 0 else {}


def _not_at_once(reply: Reply, started: float) -> Steps[None]:
    """A server with too many waiting clients says when to come back; one that is closing answers all at once."""
    pause_s = reply.retry_after_s
    if pause_s is None and time.monotonic() - started < QUICK_S:
        pause_s = QUICK_S
    if pause_s:
        yield Pause(pause_s)
