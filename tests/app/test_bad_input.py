"""Whatever is sent, the answer is a documented problem and never a 5xx."""

import json
import socket
from typing import Any

import httpx
import pytest

TASK = "level1/19_ReLU"
JSON = {"Content-Type": "application/json"}
EPISODE, SUBMISSION = "/episodes", "/submissions"
SUB = {"task_id": TASK, "code": "x"}
DEEP = "[" * 50_000 + "]" * 50_000

# (path, body text, status, code)
BODIES = [
    (EPISODE, "{", 400, "malformed_json"),
    (EPISODE, "", 400, "malformed_json"),
    (EPISODE, '{"seed": NaN}', 400, "malformed_json"),
    (EPISODE, '{"seed": Infinity}', 400, "malformed_json"),
    (EPISODE, DEEP, 400, "malformed_json"),
    (EPISODE, '{"seed": ' + "9" * 5000 + "}", 400, "malformed_json"),
    (EPISODE, b'{"run_id": "\xff\xfe"}', 400, "malformed_json"),
    (EPISODE, "[]", 422, "invalid_request"),
    (EPISODE, "null", 422, "invalid_request"),
    (EPISODE, '"text"', 422, "invalid_request"),
    (SUBMISSION, json.dumps({**SUB, "code": "x" * 300_000}), 413, "code_too_large"),
    (SUBMISSION, json.dumps({**SUB, "code": "é" * 140_000}, ensure_ascii=False), 413, "code_too_large"),
    (SUBMISSION, json.dumps({**SUB, "code": "x" * 10_000_000}), 413, "body_too_large"),
]

# (path, object, pointer)
FIELDS: list[tuple[str, dict[str, Any], str]] = [
    (EPISODE, {"task_id": 5}, "#/task_id"),
    (EPISODE, {"task_id": ""}, "#/task_id"),
    (EPISODE, {"task_id": "../../etc/passwd"}, "#/task_id"),
    (EPISODE, {"task_id": "level1/99999_Nothing"}, "#/task_id"),
    (EPISODE, {"task_id": TASK, "split": "eval"}, "#/split"),
    (EPISODE, {"split": "test"}, "#/split"),
    (EPISODE, {"seed": -1}, "#/seed"),
    (EPISODE, {"seed": 2**63}, "#/seed"),
    (EPISODE, {"seed": 1.5}, "#/seed"),
    (EPISODE, {"seed": "1"}, "#/seed"),
    (EPISODE, {"max_turns": 0}, "#/max_turns"),
    (EPISODE, {"max_turns": True}, "#/max_turns"),
    (EPISODE, {"max_turns": 10**30}, "#/max_turns"),
    (EPISODE, {"language": "rust"}, "#/language"),
    (EPISODE, {"reward": "fame"}, "#/reward"),
    (EPISODE, {"run_id": "a\x00b"}, "#/run_id"),
    (EPISODE, {"run_id": "x" * 129}, "#/run_id"),
    (EPISODE, {"labels": []}, "#/labels"),
    (EPISODE, {"labels": {"a": 1}}, "#/labels/a"),
    (EPISODE, {"labels": {"a\x00": "b"}}, "#/labels/a\x00"),
    (EPISODE, {"labels": {str(n): "" for n in range(33)}}, "#/labels"),
    (EPISODE, {"colour": "red"}, "#/colour"),
    (SUBMISSION, {}, "#/code"),
    (SUBMISSION, {"code": "x"}, "#"),
    (SUBMISSION, {"code": "x", "task_id": TASK, "episode_id": "ep_1"}, "#"),
    (SUBMISSION, {"code": None, "task_id": TASK}, "#/code"),
    (SUBMISSION, {"code": "a\x00b", "task_id": TASK}, "#/code"),
    (SUBMISSION, {"code": "a\ud800b", "task_id": TASK}, "#/code"),
    (SUBMISSION, {"code": ["x"], "task_id": TASK}, "#/code"),
    (SUBMISSION, {**SUB, "task_id": "level1/99999_Nothing"}, "#/task_id"),
    (SUBMISSION, {**SUB, "turn": 1}, "#/turn"),
    (SUBMISSION, {"code": "x", "episode_id": "ep_1", "turn": 0}, "#/turn"),
    (SUBMISSION, {**SUB, "priority": "urgent"}, "#/priority"),
    (SUBMISSION, {**SUB, "deadline_s": 0}, "#/deadline_s"),
    (SUBMISSION, {**SUB, "deadline_s": 1e300}, "#/deadline_s"),
    (SUBMISSION, {**SUB, "deadline_s": True}, "#/deadline_s"),
    (SUBMISSION, {**SUB, "dedupe": "always"}, "#/dedupe"),
    (SUBMISSION, {**SUB, "gpu": ""}, "#/gpu"),
]

# (path and query, status)
PATHS = [
    ("/nowhere", 404),
    ("/episodes/ep_nothing", 404),
    ("/episodes/%00", 404),
    ("/episodes/" + "x" * 3000, 404),
    ("/submissions/sub_nothing", 404),
    ("/submissions/%F0%9F%92%A9", 404),
    ("/submissions/%FF", 404),
    ("/submissions/sub_nothing?wait=-1", 422),
    ("/submissions/sub_nothing?wait=soon", 422),
    ("/submissions/sub_nothing?wait=nan", 422),
    ("/submissions/sub_nothing?wait=inf", 422),
    ("/submissions/sub_nothing/code", 404),
    ("/submissions/sub_nothing/reward?mode=fame", 422),
    ("/tasks/level1/99999_Nothing", 404),
    ("/tasks/..%2f..%2fetc%2fpasswd", 404),
    ("/tasks/level1%2F19_ReLU%00", 404),
    ("/tasks?level=one", 422),
    ("/tasks?level=0", 422),
    ("/tasks?limit=0", 422),
    ("/tasks?limit=100000", 422),
    ("/tasks?split=test", 422),
    ("/tasks?cursor=%00", 422),
    ("/tasks?cursor=not-a-cursor", 422),
]


def assert_problem(response: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["API-Version"]
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert isinstance(problem["retryable"], bool)
    assert problem["title"]
    assert problem["detail"]
    assert code is None or problem["code"] == code
    return problem


@pytest.mark.parametrize(("path", "body", "status", "code"), BODIES, ids=range(len(BODIES)))
def test_bodies(api: httpx.Client, path: str, body: str | bytes, status: int, code: str) -> None:
    content = body.encode() if isinstance(body, str) else body
    assert_problem(api.post(path, content=content, headers=JSON), status, code)


@pytest.mark.parametrize(("path", "body", "pointer"), FIELDS, ids=range(len(FIELDS)))
def test_fields(api: httpx.Client, path: str, body: dict[str, Any], pointer: str) -> None:
    response = api.post(path, content=json.dumps(body).encode(), headers=JSON)
    problem = assert_problem(response, 422)
    assert pointer in [error["pointer"] for error in problem["errors"]]
    assert all(error["detail"] for error in problem["errors"])


@pytest.mark.parametrize(("path", "status"), PATHS, ids=range(len(PATHS)))
def test_paths(api: httpx.Client, path: str, status: int) -> None:
    assert_problem(api.get(path), status)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
def test_content_types(api: httpx.Client, content_type: str) -> None:
    response = api.post("/submissions", content=json.dumps(SUB).encode(), headers={"Content-Type": content_type})
    assert_problem(response, 415, "unsupported_media_type")


def test_a_body_without_a_content_type(api: httpx.Client) -> None:
    assert_problem(api.post("/submissions", content=b"{}"), 415, "unsupported_media_type")


def test_methods(api: httpx.Client) -> None:
    response = api.delete("/submissions")
    assert_problem(response, 405, "method_not_allowed")
    assert "POST" in response.headers["Allow"]


@pytest.mark.parametrize("key", ["", "x" * 256, "two words"])
def test_idempotency_keys(api: httpx.Client, key: str) -> None:
    problem = assert_problem(api.post("/episodes", json={}, headers={"Idempotency-Key": key}), 422)
    assert problem["errors"][0]["pointer"] == "header:Idempotency-Key"


def test_an_ill_formed_preference_is_ignored(api: httpx.Client) -> None:
    episode = api.post("/episodes", json={}).json()
    for preference in ("wait=soon", "wait=-5", "wait", '";;,,', "wait=²"):
        headers = {"Prefer": preference.encode()}
        response = api.get(f"/episodes/{episode['id']}", headers=headers)
        assert response.status_code == 200
        response = api.get("/submissions/sub_nothing", headers=headers)
        assert_problem(response, 404)


def test_a_body_that_never_ends_costs_a_connection_only(api: httpx.Client) -> None:
    url = api.base_url
    with socket.create_connection((url.host, url.port or 80), timeout=10) as slow:
        head = b"POST /submissions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        slow.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert api.get("/healthz").status_code == 200
