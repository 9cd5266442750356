"""Batches over HTTP, with a real worker and the mock evaluator."""

import threading
from typing import Any

import httpx
import pytest

from tests.app.test_bad_input import assert_problem
from tests.app.test_episodes import TASK, open_episode, source

SLOW = source("correct eval_s=60")


@pytest.fixture(scope="module")
def api(either: httpx.Client) -> httpx.Client:
    """Both databases: what these tests ask for is asked of them in SQL of its own."""
    return either


def item(custom_id: object, mock: str = "correct", **more: Any) -> dict[str, Any]:
    return {"custom_id": custom_id, "task_id": TASK, "code": source(mock), **more}


def create(api: httpx.Client, items: list[Any], **query: Any) -> dict[str, Any]:
    response = api.post("/batches", json={"items": items}, params=query)
    assert response.status_code in (200, 202), response.text
    batch: dict[str, Any] = response.json()
    assert response.headers["Location"] == f"/batches/{batch['id']}"
    assert (response.status_code == 200) == (batch["status"] == "finished")
    return batch


def test_all_of_a_batch_is_answered_in_the_order_of_its_ends(api: httpx.Client) -> None:
    batch = create(api, [item("a"), item("b", "incorrect"), item("c", "fault code=internal_error")], wait=60)
    assert (batch["status"], batch["size"], batch["ended"], batch["next_cursor"]) == ("finished", 3, 3, None)
    assert [entry["ending"] for entry in batch["data"]] == [1, 2, 3]
    found = {entry["custom_id"]: entry["submission"] for entry in batch["data"]}
    assert (found["a"]["verdict"], found["b"]["verdict"]) == ("correct", "incorrect")
    assert (found["c"]["status"], found["c"]["reward"]) == ("failed", None)
    assert [place["custom_id"] for place in batch["items"]] == ["a", "b", "c"]
    assert batch["counts"]["completed"] == 2
    assert all(entry["submission"]["batch_id"] == batch["id"] for entry in batch["data"])


def test_items_are_refused_one_by_one_each_with_its_reasons(api: httpx.Client) -> None:
    episode = open_episode(api)
    batch = create(
        api,
        [
            item("fine"),
            {"custom_id": "empty"},
            item("fine"),
            item(7),
            item("unknown", task_id="level1/99999_Nothing"),
            item("large", code="x" * 300_000),
            {"custom_id": "nul", "task_id": TASK, "code": "a\x00"},
            {"custom_id": "turn", "episode_id": episode["id"], "code": "x", "turn": 3},
            {"custom_id": "nowhere", "episode_id": "ep_nothing", "code": "x"},
        ],
        wait=60,
    )
    told = [(place["custom_id"], place["problem"] and place["problem"]["code"]) for place in batch["items"]]
    assert told == [
        ("fine", None),
        ("empty", "invalid_request"),
        ("fine", "duplicate_custom_id"),
        (None, "invalid_request"),
        ("unknown", "unknown_task"),
        ("large", "code_too_large"),
        ("nul", "invalid_request"),
        ("turn", "turn_conflict"),
        ("nowhere", "not_found"),
    ]
    assert batch["items"][6]["problem"]["errors"][0]["pointer"] == "#/items/6/code"
    assert batch["items"][4]["problem"]["errors"][0]["pointer"] == "#/items/4/task_id"
    assert (batch["counts"]["refused"], batch["ended"], batch["status"]) == (8, 9, "finished")
    assert sorted(entry["ending"] for entry in batch["data"]) == list(range(1, 10))


def test_a_batch_is_drained_by_cursor_and_nothing_is_skipped(api: httpx.Client) -> None:
    items = [item(f"item-{number}", "correct eval_s=0.05") for number in range(12)]
    batch = create(api, items, wait=60, until="any")
    seen, cursor = [entry["custom_id"] for entry in batch["data"]], batch["next_cursor"]
    while cursor is not None:
        query = {"wait": 60, "until": "any", "cursor": cursor}
        answer = api.get(f"/batches/{batch['id']}", params=query).json()
        assert answer["data"], "it answered before anything had ended"
        assert answer["data"][0]["ending"] == int(cursor) + 1
        seen += [entry["custom_id"] for entry in answer["data"]]
        cursor = answer["next_cursor"]
    assert sorted(seen) == sorted(entry["custom_id"] for entry in items)
    assert api.get(f"/batches/{batch['id']}", params={"cursor": "12"}).json()["data"] == []


def test_until_any_is_woken_by_one_and_until_all_by_the_last(api: httpx.Client) -> None:
    batch = create(api, [item("slow", code=SLOW), item("slower", code=SLOW)])
    places = {place["custom_id"]: place["submission_id"] for place in batch["items"]}
    path, answers = f"/batches/{batch['id']}", {}

    def wait(until: str) -> None:
        answers[until] = api.get(path, params={"wait": 60, "until": until}).json()

    threads = {until: threading.Thread(target=wait, args=[until]) for until in ("any", "all")}
    for thread in threads.values():
        thread.start()
    api.post(f"/submissions/{places['slow']}/cancel")
    threads["any"].join(30)
    assert (answers["any"]["ended"], answers["any"]["next_cursor"]) == (1, "1")
    assert "all" not in answers
    ended = api.post(f"{path}/cancel").json()
    assert (ended["status"], ended["counts"]["cancelled"]) == ("finished", 2)
    threads["all"].join(30)
    assert answers["all"]["status"] == "finished"


def test_a_repeated_batch_is_the_same_batch(api: httpx.Client) -> None:
    headers, body = {"Idempotency-Key": "batch-1"}, {"items": [item("a"), {"custom_id": "b"}]}
    first = api.post("/batches?wait=60", json=body, headers=headers)
    again = api.post("/batches?wait=60", json=body, headers=headers)
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    other = api.post("/batches", json={"items": [item("a")]}, headers=headers)
    assert_problem(other, 422, "idempotency_key_reused")


def test_the_run_of_a_batch_is_its_items_own_unless_they_say_otherwise(api: httpx.Client) -> None:
    body = {"run_id": "of-the-batch", "items": [item("a"), item("b", run_id="own")]}
    batch = api.post("/batches?wait=60", json=body).json()
    runs = {entry["custom_id"]: entry["submission"]["run_id"] for entry in batch["data"]}
    assert runs == {"a": "of-the-batch", "b": "own"}


def test_as_many_as_are_allowed_and_no_more(api: httpx.Client) -> None:
    code = "# " + "x" * 100_000  # 25 MB together
    tasks = [TASK] * 3 + ["level1/99999_Nothing"] * 253
    items = [{"custom_id": str(n), "task_id": task_id, "code": code} for n, task_id in enumerate(tasks)]
    batch = create(api, items, wait=60)
    assert (batch["size"], batch["counts"]["refused"], len(batch["data"])) == (256, 253, 256)
    assert {entry["submission"]["verdict"] for entry in batch["data"][253:]} == {"format_violation"}
    problem = assert_problem(api.post("/batches", json={"items": items[:1] * 257}), 422)
    assert problem["errors"][0]["pointer"] == "#/items"


BAD: list[tuple[Any, str]] = [
    ({}, "#/items"),
    ({"items": []}, "#/items"),
    ({"items": {}}, "#/items"),
    ({"items": [5]}, "#/items/0"),
    ({"items": ["x"]}, "#/items/0"),
    ({"items": [{}], "run_id": "a/b"}, "#/run_id"),
    ({"items": [{}], "colour": "red"}, "#/colour"),
]


def test_what_is_no_batch(api: httpx.Client) -> None:
    for body, pointer in BAD:
        problem = assert_problem(api.post("/batches", json=body), 422, "invalid_request")
        assert pointer in [error["pointer"] for error in problem["errors"]]
    for query in ("until=some", "wait=-1", "wait=1_0", "cursor=1"):
        assert_problem(api.post(f"/batches?{query}", json={"items": [{}]}), 422)
    for query in ("until=some", "cursor=-1", "cursor=x", "cursor=9999999999"):
        assert_problem(api.get(f"/batches/bat_nothing?{query}"), 422)
    assert_problem(api.get("/batches/bat_nothing"), 404)
    assert_problem(api.post("/batches/bat_nothing/cancel"), 404)
    assert_problem(api.post("/batches", content=b"x" * 34_000_000, headers={"Content-Type": "application/json"}), 413)
