"""Clients as trainers are written: they name every creation, repeat what was refused, and wait for verdicts."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from evaluator.submission import Language
from grading.states import UNFINISHED
from tests.services.installation import TASK

PAUSE_S = 0.1
ANSWER_S = 30.0
WAIT_S = 2
# a server that was killed refuses connections or breaks them off; a client that waits in vain has met an error
BROKEN = (httpx.NetworkError, httpx.RemoteProtocolError)


def language_of(code: str) -> Language:
    """As its author knows it."""
    return "cuda" if "load_inline" in code else "triton"


class Trainer:
    """One training run over HTTP; may be used from many threads. Every error that it may not see is an exception."""

    def __init__(self, url: str, run_id: str, give_up_s: float) -> None:
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        self._client = httpx.Client(base_url=url, timeout=ANSWER_S, trust_env=False, limits=limits)
        self._until = time.monotonic() + give_up_s
        self._lock = threading.Lock()
        self.run_id = run_id
        self.met: Counter[str] = Counter()
        self.accepted: dict[str, str] = {}

    def close(self) -> None:
        self._client.close()

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Repeat until there is an answer; fails on any but a success, or 503 with Retry-After."""
        while True:
            assert time.monotonic() < self._until, f"no answer to {method} {path} in time: {self.met}"
            try:
                answer = self._client.request(method, path, **more)
            except BROKEN as error:
                self._count(type(error).__name__)
                time.sleep(PAUSE_S)
                continue
            if answer.status_code == 503 and answer.headers.get("Retry-After"):
                self._count("503")
                time.sleep(PAUSE_S)
                continue
            assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
            return answer

    def create(self, path: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
        """The object that this key stands for, however often it was asked for."""
        answer = self.request("POST", path, json=body, headers={"Idempotency-Key": f"{self.run_id}/{key}"})
        found: dict[str, Any] = answer.json()
        return found

    def submit(self, key: str, code: str, **more: Any) -> str:
        """Take the source's submission id home; the server may not forget it from then on."""
        body = {"code": code, "language": language_of(code), "run_id": self.run_id, **more}
        body |= {} if "episode_id" in more else {"task_id": TASK}
        submission_id = str(self.create("/submissions", key, body)["id"])
        with self._lock:
            self.accepted[submission_id] = code
        return submission_id

    def wait_ended(self, submission_id: str) -> dict[str, Any]:
        """The submission when it has ended, by long polls."""
        while True:
            found: dict[str, Any] = self.request("GET", f"/submissions/{submission_id}?wait={WAIT_S}").json()
            if found["status"] not in UNFINISHED:
                return found

    def open_episode(self, key: str, turns: int) -> str:
        body = {"task_id": TASK, "max_turns": turns, "run_id": self.run_id}
        return str(self.create("/episodes", key, body)["id"])

    def play(self, key: str, codes: list[str]) -> list[dict[str, Any]]:
        """One episode to its end, a turn for each source."""
        episode_id = self.open_episode(key, len(codes))
        ended = []
        for turn, code in enumerate(codes, 1):
            submission_id = self.submit(f"{key}/{turn}", code, episode_id=episode_id, turn=turn)
            ended.append(self.wait_ended(submission_id))
        return ended

    def send_batch(self, key: str, codes: list[str]) -> str:
        """A batch of these sources and of one item that is refused."""
        items = [
            {"custom_id": str(n), "code": code, "language": language_of(code), "task_id": TASK}
            for n, code in enumerate(codes)
        ]
        body = {"items": [*items, {"custom_id": "refused"}], "run_id": self.run_id}
        made = self.create("/batches", key, body)
        with self._lock:
            self.accepted |= {item["submission_id"]: codes[item["index"]] for item in made["items"][:-1]}
        return str(made["id"])

    def drain(self, batch_id: str) -> list[dict[str, Any]]:
        """The ended submissions of a batch in the order of their endings, of which none is skipped or told twice."""
        ended: list[dict[str, Any]] = []
        endings: list[int] = []
        cursor: str | None = "0"
        while cursor is not None:
            wanted = {"cursor": cursor, "until": "any", "wait": WAIT_S}
            page = self.request("GET", f"/batches/{batch_id}", params=wanted).json()
            endings += [entry["ending"] for entry in page["data"]]
            ended += [entry["submission"] for entry in page["data"] if entry["submission"]]
            cursor = page["next_cursor"]
        assert endings == list(range(1, page["size"] + 1)), endings
        return ended

    def _count(self, what: str) -> None:
        with self._lock:
            self.met[what] += 1


@contextmanager
def trainer(url: str, run_id: str, give_up_s: float = 120.0) -> Iterator[Trainer]:
    made = Trainer(url, run_id, give_up_s)
    try:
        yield made
    finally:
        made.close()
