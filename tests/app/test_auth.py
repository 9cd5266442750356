"""Keys: who is admitted, what each scope allows, and what is counted by key and by project."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from grading.keys import NewKey, make_key, revoke_key
from tests.app.conftest import Keyed, client
from tests.app.test_bad_input import assert_problem
from tests.app.test_episodes import TASK, source
from tests.services.installation import wait_for

OPEN = {"/healthz", "/readyz", "/openapi.json"}


@pytest.fixture(scope="module")
def ours(keyed: Keyed) -> Iterator[httpx.Client]:
    with keyed.client("ours", "admin") as made:
        yield made


@pytest.fixture(scope="module")
def theirs(keyed: Keyed) -> Iterator[httpx.Client]:
    """Everything that a key of another project could allow."""
    with keyed.client("theirs", "admin") as made:
        yield made


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer kg_000000000000_x", "Basic a2c6", "x"])
def test_without_a_key_nothing_but_health_is_told(keyed: Keyed, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    with client(keyed.url, headers) as stranger:
        for path in OPEN:
            assert stranger.get(path).status_code == 200
        for method, path in ("GET", "/meta"), ("GET", "/queue"), ("POST", "/submissions"), ("GET", "/runs/a"):
            response = stranger.request(method, path)
            assert_problem(response, 401, "unauthorized")
            assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_scopes(keyed: Keyed) -> None:
    with keyed.client("scopes", "read") as reader, keyed.client("scopes", "submit") as submitter:
        assert reader.get("/submissions").status_code == 200
        assert_problem(reader.post("/episodes", json={}), 403, "forbidden")
        assert_problem(reader.post("/submissions", json={"task_id": TASK, "code": "x"}), 403, "forbidden")
        assert submitter.post("/episodes", json={}).status_code == 201
        assert_problem(submitter.get("/submissions"), 403, "forbidden")
        assert_problem(submitter.post("/submissions/sub_x/regrade"), 403, "forbidden")


def test_a_revoked_key_is_refused(keyed: Keyed) -> None:
    row, token = make_key(keyed.db, NewKey("revoked", "short-lived", ("read",)))
    with client(keyed.url, {"Authorization": f"Bearer {token}"}) as holder:
        assert holder.get("/meta").status_code == 200
        revoke_key(keyed.db, row.id)
        wait_for(lambda: holder.get("/meta").status_code != 200, 30, "a key that is no longer trusted")
        assert_problem(holder.get("/meta"), 401, "unauthorized")


def test_leaderboards_are_a_projects_own(ours: httpx.Client, theirs: httpx.Client) -> None:
    code = source("correct speedup=3.5")
    assert ours.post("/submissions?wait=30", json={"task_id": TASK, "code": code}).json()["verdict"] == "correct"
    assert [entry["speedup"] for entry in ours.get(f"/tasks/{TASK}/leaderboard").json()["data"]] == [3.5]
    assert theirs.get(f"/tasks/{TASK}/leaderboard").json()["data"] == []


def test_idempotency_keys_are_a_keys_own(keyed: Keyed) -> None:
    made: list[Any] = []
    for project in ("ours", "ours", "theirs"):
        with keyed.client(project) as holder:
            response = holder.post("/episodes", json={"seed": 1}, headers={"Idempotency-Key": "same"})
            assert "Idempotency-Replayed" not in response.headers
            made.append(response.json()["id"])
    assert len(set(made)) == 3


def test_a_rate_limit_tells_what_is_left_and_when_to_come_back(keyed: Keyed) -> None:
    with keyed.client("limited", "read", rate_per_minute=5) as holder:
        answers = [holder.get("/meta") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[0].headers["RateLimit-Policy"] == '"requests";q=5;w=60'
    assert answers[0].headers["RateLimit"].startswith('"requests";r=4;t=')
    problem = assert_problem(answers[-1], 429, "rate_limited")
    assert problem["retryable"] is True
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60


def test_a_quota_of_work_in_flight(keyed: Keyed) -> None:
    body = {"task_id": TASK, "code": source("correct eval_s=60")}
    with keyed.client("quota", in_flight_max=2) as holder, keyed.client("quota") as other:
        ids = [holder.post("/submissions", json=body).json()["id"] for _ in range(2)]
        response = holder.post("/submissions", json=body)
        assert_problem(response, 429, "too_many_in_flight")
        assert int(response.headers["Retry-After"]) >= 1
        items = [{"custom_id": "a", **body}]
        batch = holder.post("/batches", json={"items": items})
        assert (batch.status_code, batch.json()["items"][0]["problem"]["code"]) == (200, "too_many_in_flight")
        ids.append(other.post("/submissions", json=body).json()["id"])  # of the same project, by another key
        assert holder.post(f"/submissions/{ids[0]}/cancel").status_code == 200
        ids.append(holder.post("/submissions", json=body).json()["id"])
        for name in ids:
            holder.post(f"/submissions/{name}/cancel")


def test_the_key_is_asked_for_before_the_body(keyed: Keyed) -> None:
    with client(keyed.url) as stranger:
        response = stranger.post("/batches", content=json.dumps({"items": "x" * 1_000_000}).encode())
    assert_problem(response, 401)
