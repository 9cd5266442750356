"""Any order of requests over HTTP, with grades in between: answers agree with each other and with what was asked."""

import hashlib
import itertools
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from evaluator.errors import GraderFault
from evaluator.prebuilt import Prebuilt, Product
from evaluator.verdicts import Verdict
from grading import jobs
from grading.models import Slot
from launcher.ports import free_port
from tests.app.conftest import client
from tests.app.test_bad_input import TASK, assert_problem
from tests.conftest import empty
from tests.grading.support import LEASES, open_builder, open_slot, report
from tests.services.api_alone import start_api, url
from tests.services.broker import Broker
from tests.services.installation import Installation, installation

ENDED = {"completed", "failed", "cancelled", "expired"}
# from where to where a status may be seen to go
NEXT = {
    "queued": {"queued", "compiling", "ready", "running"} | ENDED,
    "compiling": {"queued", "compiling", "ready", "running"} | ENDED,
    "ready": {"ready", "running"} | ENDED,
    "running": {"queued", "ready", "running"} | ENDED,
}
PRODUCT = Product("0123.tiny.so", hashlib.sha256(b"a product").hexdigest())


@pytest.fixture(scope="module")
def here(postgres_url: str, session_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    empty(postgres_url)
    folder: Path = tmp_path_factory.mktemp("machine")
    with installation(postgres_url, session_broker, folder, PORT=str(free_port())) as made:
        start_api(made)
        yield made


class Requests(RuleBasedStateMachine):
    """Sends what a trainer may send, and keeps what it was told."""

    episodes: Bundle[str] = Bundle("episodes")
    submissions: Bundle[str] = Bundle("submissions")
    here: Installation
    api: httpx.Client
    slot: Slot
    builder: Slot

    def __init__(self) -> None:
        super().__init__()
        self.run_id = f"machine-{uuid.uuid4().hex}"
        self.numbers = itertools.count()
        self.seen: dict[str, dict[str, Any]] = {}  # submissions, as they were last shown
        self.of_episode: dict[str, list[str]] = {}
        self.max_turns: dict[str, int] = {}
        self.cancelled: set[str] = set()

    def teardown(self) -> None:
        if self.seen or self.of_episode:
            assert self.api.post(f"/runs/{self.run_id}/cancel").status_code == 200
            assert {self.read(name)["status"] for name in self.seen} <= ENDED

    # --- what a trainer does

    @rule(target=episodes, max_turns=st.integers(1, 3), again=st.booleans())
    def open_episode(self, max_turns: int, again: bool) -> str:
        body = {"task_id": TASK, "max_turns": max_turns, "run_id": self.run_id}
        episode = self.create("/episodes", body, 201, again=again)
        self.max_turns[episode["id"]] = max_turns
        self.of_episode[episode["id"]] = []
        return str(episode["id"])

    @rule(
        target=submissions,
        again=st.booleans(),
        priority=st.sampled_from(["high", "normal", "low"]),
        language=st.sampled_from(["triton", "cuda"]),
    )
    def submit_alone(self, again: bool, priority: str, language: str) -> str:
        body = {"task_id": TASK, "code": f"# {next(self.numbers)}", "run_id": self.run_id}
        body |= {"priority": priority, "language": language}
        return self.keep(self.create("/submissions", body, 202, again=again))

    @rule(target=submissions, episode_id=episodes, turn=st.sampled_from([None, 1, 2, 3, 4]), again=st.booleans())
    def submit_turn(self, episode_id: str, turn: int | None, again: bool) -> str:
        body = {"episode_id": episode_id, "code": f"# {next(self.numbers)}", "turn": turn}
        body = {name: value for name, value in body.items() if value is not None}
        mine = [self.seen[name] for name in self.of_episode[episode_id]]
        used = sum(row["verdict"] is not None for row in mine)
        if episode_id in self.cancelled or used == self.max_turns[episode_id]:
            refused = "episode_finished"
        elif any(row["status"] not in ENDED for row in mine) or turn not in (None, used + 1):
            refused = "turn_conflict"
        else:
            made = self.create("/submissions", body, 202, again=again)
            assert made["turn"] == used + 1
            self.of_episode[episode_id].append(made["id"])
            return self.keep(made)
        assert_problem(self.api.post("/submissions", json=body), 409, refused)
        return ""

    @rule(name=submissions)
    def cancel(self, name: str) -> None:
        if name:
            before = self.seen[name]
            after = self.api.post(f"/submissions/{name}/cancel").json()
            assert after["status"] == (before["status"] if before["status"] in ENDED else "cancelled")

    @rule(episode_id=episodes)
    def cancel_episode(self, episode_id: str) -> None:
        used = sum(self.seen[name]["verdict"] is not None for name in self.of_episode[episode_id])
        told = self.api.post(f"/episodes/{episode_id}/cancel").json()
        assert told["status"] == ("finished" if used == self.max_turns[episode_id] else "cancelled")
        self.cancelled.add(episode_id)

    # --- what a worker does

    @rule(verdict=st.sampled_from([Verdict.CORRECT, Verdict.INCORRECT, Verdict.COMPILE_ERROR]))
    def grade(self, verdict: Verdict) -> None:
        claim = jobs.claim(self.here.db, self.slot.id, self.slot.incarnation, LEASES)
        if claim is not None:
            jobs.finish(self.here.db, claim.submission_id, claim.fence, report(verdict))

    @rule(outcome=st.sampled_from(["built", "compile_error", "lost"]))
    def build(self, outcome: str) -> None:
        claim = jobs.claim(self.here.db, self.builder.id, self.builder.incarnation, LEASES)
        if claim is None:
            return
        assert self.read(claim.submission_id)["status"] == "compiling"
        if outcome == "built":
            jobs.make_ready(self.here.db, claim.submission_id, claim.fence, [Prebuilt("9.0", "x", (PRODUCT,))], {})
            assert self.read(claim.submission_id)["status"] == "ready"
        elif outcome == "compile_error":
            jobs.finish(self.here.db, claim.submission_id, claim.fence, report(Verdict.COMPILE_ERROR))
        else:
            jobs.hand_back(self.here.db, claim.submission_id, claim.fence)
            assert self.read(claim.submission_id)["status"] == "queued"

    @rule(code=st.sampled_from(["internal_error", "handed_back"]))
    def lose(self, code: str) -> None:
        claim = jobs.claim(self.here.db, self.slot.id, self.slot.incarnation, LEASES)
        if claim is None:
            return
        assert self.read(claim.submission_id)["status"] == "running"
        if code == "handed_back":
            jobs.hand_back(self.here.db, claim.submission_id, claim.fence)
        else:
            fault = GraderFault(code, "detail")
            jobs.finish_fault(self.here.db, claim.submission_id, claim.fence, fault, LEASES)

    # --- what must hold

    @invariant()
    def all_agree(self) -> None:
        self.submissions_move_forward_and_end_once()
        self.turns_are_verdicts()
        self.lists_and_counts_agree()

    def submissions_move_forward_and_end_once(self) -> None:
        for name, before in self.seen.items():
            if before["status"] in ENDED:
                assert self.read(name) == before, "an ending has changed"
                continue
            after = self.read(name)
            assert after["status"] in NEXT[before["status"]]
            assert (after["verdict"] is not None) == (after["status"] == "completed") == (after["reward"] is not None)
            assert (after["error"] is not None) == (after["status"] in ENDED - {"completed"})
            assert (after["finished_at"] is not None) == (after["status"] in ENDED)
            assert (after["queue"] is not None) == (after["status"] in ("queued", "ready"))
            assert after["attempt"] >= before["attempt"]
            self.seen[name] = after

    def turns_are_verdicts(self) -> None:
        for episode_id, names in self.of_episode.items():
            episode = self.api.get(f"/episodes/{episode_id}").json()
            graded = [self.seen[name] for name in names if self.seen[name]["verdict"] is not None]
            assert [turn["submission_id"] for turn in episode["history"]] == [row["id"] for row in graded]
            assert [turn["turn"] for turn in episode["history"]] == list(range(1, len(graded) + 1))
            assert episode["turn"] == min(len(graded) + 1, self.max_turns[episode_id])
            done = episode_id in self.cancelled or len(graded) == self.max_turns[episode_id]
            assert (episode["done"], episode["status"] == "active") == (done, not done)
            speedups = [turn["speedup"] for turn in episode["history"] if turn["speedup"] is not None]
            assert episode["best_speedup"] == max(speedups, default=None)

    def lists_and_counts_agree(self) -> None:
        rows = self.api.get("/submissions", params={"run_id": self.run_id, "limit": 200}).json()["data"]
        assert {row["id"]: row["status"] for row in rows} == {n: row["status"] for n, row in self.seen.items()}
        if not self.seen and not self.of_episode:
            return
        run = self.api.get(f"/runs/{self.run_id}").json()
        assert sum(run["submissions"].values()) == len(self.seen)
        assert sum(run["episodes"].values()) == len(self.of_episode)
        assert run["submissions"]["completed"] == sum(run["verdicts"].values())

    # --- how

    def create(self, path: str, body: dict[str, Any], status: int, *, again: bool) -> dict[str, Any]:
        """Make something; `again` repeats the request, which must make nothing more."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        first = self.api.post(path, json=body, headers=headers)
        assert first.status_code == status, first.text
        made: dict[str, Any] = first.json()
        if again:
            second = self.api.post(path, json=body, headers=headers)
            assert (second.status_code, second.headers["Idempotency-Replayed"]) == (status, "true")
            assert second.json()["id"] == made["id"]
        return made

    def keep(self, made: dict[str, Any]) -> str:
        assert (made["status"], made["verdict"], made["reward"]) == ("queued", None, None)
        self.seen[made["id"]] = made
        return str(made["id"])

    def read(self, name: str) -> dict[str, Any]:
        response = self.api.get(f"/submissions/{name}")
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found


def test_any_order_of_requests(here: Installation) -> None:
    with client(url(here)) as api:

        class Here(Requests):
            pass

        Here.here, Here.api = here, api
        Here.slot, Here.builder = open_slot(here.db), open_builder(here.db)
        run_state_machine_as_test(
            Here,
            settings=settings(
                max_examples=10,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                derandomize=True,
                database=None,
            ),
        )
