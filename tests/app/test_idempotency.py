"""Sending again under one key, over HTTP: what is made once, what is answered, and what is not remembered."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from grading.jobs import Reaper
from grading.jobs.idempotency import LIFETIME_MS
from grading.models import IdempotencyKey
from tests.app.test_bad_input import TASK, assert_problem
from tests.grading.support import LEASES
from tests.services.api_alone import Alone, alone
from tests.services.broker import Broker

SUBMISSION = {"task_id": TASK, "code": "x"}
CREATES: dict[str, dict[str, Any]] = {
    "/episodes": {"task_id": TASK},
    "/submissions": SUBMISSION,
    "/batches": {"items": [{"custom_id": "a", **SUBMISSION}]},
}


@pytest.fixture(scope="module")
def lone(postgres_url: str, session_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with alone(postgres_url, session_broker, tmp_path_factory.mktemp("idempotency")) as made:
        yield made


def send(lone: Alone, key: str, path: str, body: Any = None) -> httpx.Response:
    return lone.api.post(path, json=body, headers={"Idempotency-Key": key})


def replayed(response: httpx.Response) -> bool:
    return response.headers.get("Idempotency-Replayed") == "true"


@pytest.mark.parametrize("path", CREATES)
def test_a_repetition_answers_with_what_the_first_one_made(lone: Alone, path: str) -> None:
    key = f"again-{path}"
    first, again = (send(lone, key, path, CREATES[path]) for _ in range(2))
    assert (replayed(first), replayed(again)) == (False, True)
    assert first.status_code == again.status_code
    assert first.json()["id"] == again.json()["id"]
    assert first.headers["Location"] == again.headers["Location"]


def test_a_regrade_is_made_once(lone: Alone) -> None:
    ended = lone.api.post("/submissions", json=SUBMISSION).json()["id"]
    lone.api.post(f"/submissions/{ended}/cancel")
    first, again = (send(lone, "regrade", f"/submissions/{ended}/regrade") for _ in range(2))
    assert (replayed(first), replayed(again)) == (False, True)
    assert first.json()["id"] == again.json()["id"] != ended


def test_a_repetition_in_flight_shows_how_it_stands_by_now(lone: Alone) -> None:
    lone.grade_all()
    first = send(lone, "in-flight", "/submissions", SUBMISSION)
    assert (first.status_code, first.json()["status"]) == (202, "queued")
    taken = lone.take()
    assert taken is not None
    assert taken.submission_id == first.json()["id"]
    second = send(lone, "in-flight", "/submissions", SUBMISSION)
    assert (second.status_code, second.json()["status"], replayed(second)) == (202, "running", True)
    assert lone.api.post(f"/submissions/{taken.submission_id}/cancel").json()["status"] == "cancelled"
    third = send(lone, "in-flight", "/submissions", SUBMISSION)
    assert (third.status_code, third.json()["status"], third.json()["id"]) == (200, "cancelled", first.json()["id"])


@pytest.mark.parametrize("path", CREATES)
def test_the_same_key_at_the_same_moment_makes_one(lone: Alone, path: str) -> None:
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: send(lone, f"moment-{path}", path, CREATES[path]), range(12)))
    assert {answer.status_code for answer in answers} <= {201, 202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum(not replayed(answer) for answer in answers) == 1


@pytest.mark.parametrize("path", CREATES)
def test_another_request_under_the_key_is_refused(lone: Alone, path: str) -> None:
    assert send(lone, f"other-{path}", path, CREATES[path]).status_code in (201, 202)
    changed = send(lone, f"other-{path}", path, {**CREATES[path], "run_id": "another"})
    assert_problem(changed, 422, "idempotency_key_reused")
    elsewhere = next(other for other in CREATES if other != path)
    assert_problem(send(lone, f"other-{path}", elsewhere, CREATES[elsewhere]), 422, "idempotency_key_reused")
    assert replayed(send(lone, f"other-{path}", path, CREATES[path]))


def test_a_refusal_is_not_remembered(lone: Alone) -> None:
    episode = send(lone, "refusal-episode", "/episodes", {"task_id": TASK}).json()["id"]
    blocker = lone.api.post("/submissions", json={"episode_id": episode, "code": "x"}).json()["id"]
    body = {"episode_id": episode, "code": "y"}
    for _ in range(2):
        assert_problem(send(lone, "refusal", "/submissions", body), 409, "turn_conflict")
    assert_problem(send(lone, "refusal", "/submissions", {"code": 5}), 422, "invalid_request")
    lone.api.post(f"/submissions/{blocker}/cancel")
    made = send(lone, "refusal", "/submissions", body)
    assert (made.status_code, replayed(made)) == (202, False)
    assert replayed(send(lone, "refusal", "/submissions", body))


def test_a_key_is_forgotten_after_a_day(lone: Alone) -> None:
    first = send(lone, "old", "/submissions", SUBMISSION)
    for age_ms, remembered in ((LIFETIME_MS - 60_000, True), (LIFETIME_MS + 60_000, False)):
        with lone.here.db.write() as session:
            mine = update(IdempotencyKey).where(IdempotencyKey.key == "old")
            session.execute(mine.values(created_at_ms=IdempotencyKey.created_at_ms - age_ms))
        Reaper(lone.here.db, LEASES).run_once()
        again = send(lone, "old", "/submissions", SUBMISSION)
        assert replayed(again) == remembered
        assert (again.json()["id"] == first.json()["id"]) == remembered
        with lone.here.db.write() as session:
            session.execute(mine.values(created_at_ms=IdempotencyKey.created_at_ms + age_ms))


def test_without_a_key_each_request_makes_its_own(lone: Alone) -> None:
    made = {lone.api.post("/submissions", json=SUBMISSION).json()["id"] for _ in range(3)}
    assert len(made) == 3
