"""Lists, filters and cursors; attempts, logs, regrades; the queue, the workers, runs and their export."""

import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.app.test_bad_input import assert_problem
from tests.app.test_episodes import TASK, grade, open_episode, source


@pytest.fixture(scope="module")
def api(either: httpx.Client) -> httpx.Client:
    """Both databases: what these tests ask for is asked of them in SQL of its own."""
    return either


def pages(api: httpx.Client, path: str, **query: Any) -> list[list[dict[str, Any]]]:
    """All pages of a list."""
    found, cursor = [], None
    while True:
        page = api.get(path, params=query | ({"cursor": cursor} if cursor else {})).json()
        found.append(page["data"])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


@pytest.fixture(scope="module")
def run(api: httpx.Client) -> dict[str, Any]:
    """A run: an episode of two turns, a kernel on its own, one fault of ours, one more that waits."""
    episode = open_episode(api, run_id="lists", max_turns=2, labels={"step": "1"})
    graded = [
        grade(api, episode_id=episode["id"], code=source("incorrect")),
        grade(api, episode_id=episode["id"], code=source("correct speedup=4.0")),
        grade(api, task_id=TASK, code=source("correct speedup=1.5"), run_id="lists", priority="high"),
    ]
    failed = grade(api, task_id=TASK, code=source("fault code=internal_error"), run_id="lists")
    waiting = api.post("/submissions", json={"task_id": TASK, "code": "x", "run_id": "lists", "gpu": "none-such"})
    return {"episode": episode, "graded": graded, "failed": failed, "waiting": waiting.json()}


def test_pages_are_newest_first_and_whole(api: httpx.Client, run: dict[str, Any]) -> None:
    found = pages(api, "/submissions", run_id="lists", limit=2)
    assert [len(page) for page in found] == [2, 2, 1]
    ids = [row["id"] for page in found for row in page]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 5
    assert found[0][0]["queue"]["position"] >= 1
    episodes = pages(api, "/episodes", run_id="lists")
    assert [row["id"] for page in episodes for row in page] == [run["episode"]["id"]]
    assert [turn["turn"] for turn in episodes[0][0]["history"]] == [1, 2]


def test_filters_hold_at_once(api: httpx.Client, run: dict[str, Any]) -> None:
    def ids(**query: Any) -> set[str]:
        return {row["id"] for page in pages(api, "/submissions", **query) for row in page}

    graded = [row["id"] for row in run["graded"]]
    assert ids(run_id="lists", status="completed") == set(graded)
    assert ids(run_id="lists", status="failed,queued") == {run["failed"]["id"], run["waiting"]["id"]}
    assert ids(episode_id=run["episode"]["id"]) == set(graded[:2])
    assert ids(ids=",".join([*graded[1:], "sub_" + "0" * 26])) == set(graded[1:])
    assert ids(ids=graded[0], status="failed") == set()
    assert ids(run_id="another") == set()
    assert [row["id"] for row in api.get("/episodes?run_id=lists&status=finished").json()["data"]]
    assert api.get("/episodes?run_id=lists&status=active,expired").json()["data"] == []


BAD = [
    "/submissions?status=done",
    "/submissions?status=",
    "/submissions?ids=",
    "/submissions?ids=ep_1",
    "/submissions?ids=" + ",".join(["sub_" + "0" * 26] * 101),
    "/submissions?run=lists",
    "/submissions?run_id=a%2Fb",
    "/submissions?run_id=a%0A",
    "/submissions?cursor=x",
    "/submissions?limit=0",
    "/submissions?limit=1_0",
    "/episodes?status=queued",
    "/episodes?limit=201",
    "/tasks/level1/19_ReLU/leaderboard?limit=0",
    "/tasks/level1/19_ReLU/leaderboard?gpu=",
]


@pytest.mark.parametrize("path", BAD, ids=range(len(BAD)))
def test_bad_filters(api: httpx.Client, path: str) -> None:
    assert_problem(api.get(path), 422, "invalid_request")


def test_attempts_and_logs(api: httpx.Client, run: dict[str, Any]) -> None:
    attempts = api.get(f"/submissions/{run['failed']['id']}/attempts").json()["data"]
    assert [(row["number"], row["outcome"], row["code"]) for row in attempts] == [
        (number, "fault", "internal_error") for number in (1, 2, 3)
    ]
    assert all(row["started_at"] <= row["ended_at"] for row in attempts)
    log = api.get(f"/submissions/{run['failed']['id']}/log")
    assert log.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert log.text.count("internal_error") >= 3
    assert run["graded"][0]["result"]["feedback"] in api.get(f"/submissions/{run['graded'][0]['id']}/log").text


def test_a_regrade_stands_beside_the_old_grade(api: httpx.Client, run: dict[str, Any]) -> None:
    old = run["graded"][1]
    response = api.post(f"/submissions/{old['id']}/regrade", headers={"Idempotency-Key": "regrade-1"})
    assert response.status_code == 202
    again = api.post(f"/submissions/{old['id']}/regrade", headers={"Idempotency-Key": "regrade-1"})
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["id"] == response.json()["id"] != old["id"]
    new = api.get(response.headers["Location"], params={"wait": 30}).json()
    assert (new["regrade_of"], new["verdict"], new["episode_id"]) == (old["id"], "correct", None)
    assert api.get(f"/submissions/{old['id']}").json() == old
    leaders = api.get(f"/tasks/{TASK}/leaderboard", params={"run_id": "lists"}).json()["data"]
    assert [(row["rank"], row["speedup"]) for row in leaders] == [(1, 4.0), (2, 1.5)]
    assert leaders[0]["submission_id"] == new["id"]
    assert api.get(f"/tasks/{TASK}/leaderboard", params={"gpu": "another"}).json()["data"] == []
    assert_problem(api.post(f"/submissions/{run['waiting']['id']}/regrade"), 409, "not_finished")


def test_what_a_run_adds_up_to(api: httpx.Client, run: dict[str, Any]) -> None:
    found = api.get("/runs/lists").json()
    assert found["episodes"] == {"active": 0, "finished": 1, "cancelled": 0, "expired": 0}
    assert {status: count for status, count in found["submissions"].items() if count} == {
        "queued": 1, "completed": 3, "failed": 1
    }  # fmt: skip
    assert {verdict: count for verdict, count in found["verdicts"].items() if count} == {"incorrect": 1, "correct": 2}
    assert found["rates"] == {
        "graded_frac": 0.75, "correct_frac": 0.666667, "fast_1_frac": 0.666667, "fast_2_frac": 0.333333
    }  # fmt: skip
    assert found["speedup_best"] == 4.0
    assert found["first_at"] < found["last_at"]
    assert_problem(api.get("/runs/nobody-has-this"), 404, "not_found")


def test_a_run_is_exported_line_by_line(api: httpx.Client, run: dict[str, Any]) -> None:
    response = api.get("/runs/lists/export")
    assert response.headers["Content-Type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert [line["type"] for line in lines[:3]] == ["run", "episode", "submission"]
    submissions = {line["id"]: line for line in lines if line["type"] == "submission"}
    assert submissions.keys() >= {row["id"] for row in run["graded"]}
    assert submissions[run["graded"][0]["id"]]["code"] == source("incorrect")
    assert len(submissions[run["failed"]["id"]]["attempts"]) == 3
    assert_problem(api.get("/runs/nobody-has-this/export"), 404, "not_found")


def test_a_verdict_is_reused_within_the_run_where_asked_for(api: httpx.Client) -> None:
    body = {"task_id": TASK, "code": source("correct speedup=2.0"), "run_id": "dedupe"}
    first = grade(api, **body)
    reused = api.post("/submissions", json={**body, "dedupe": "run"})
    assert reused.status_code == 200
    assert (reused.json()["deduped_from"], reused.json()["reward"]) == (first["id"], first["reward"])
    assert grade(api, **body)["deduped_from"] is None
    assert grade(api, **{**body, "run_id": "dedupe-2", "dedupe": "run"})["deduped_from"] is None
    assert api.get("/runs/dedupe").json()["deduped"] == 1


def test_a_dead_trainers_run_is_cancelled(api: httpx.Client) -> None:
    name = "it's / no: ünusual run".replace("/", "-")
    episode = open_episode(api, run_id=name)
    body = {"episode_id": episode["id"], "code": source("correct eval_s=60")}
    submission = api.post("/submissions", json=body).json()
    assert api.post(f"/runs/{quote(name)}/cancel").json() == {"run_id": name, "cancelled": 1}
    assert api.get(f"/submissions/{submission['id']}").json()["status"] == "cancelled"
    assert api.get(f"/episodes/{episode['id']}").json()["status"] == "cancelled"
    assert api.post(f"/runs/{quote(name)}/cancel").json()["cancelled"] == 0
    assert_problem(api.post("/runs/nobody-has-this/cancel"), 404, "not_found")


def test_queue_and_workers(api: httpx.Client, run: dict[str, Any]) -> None:
    queue = api.get("/queue").json()
    assert queue["waiting"] >= 1
    assert queue["slots"] >= 1
    assert queue["eta_s"] >= 0
    assert sum(queue["by_priority"].values()) == queue["waiting"]
    assert sum(row["waiting"] for row in queue["queues"]) == queue["waiting"]
    nowhere = next(row for row in queue["queues"] if row["queue"] is None)
    assert nowhere["oldest_age_s"] > 0
    (worker,) = api.get("/workers").json()["data"]
    assert (worker["state"], worker["alive"], worker["evaluator"]) == ("ready", True, "mock")
    assert worker["environment"]["gpu"] == "mock"
    assert worker["isolation"] is not None
    api.post(f"/submissions/{run['waiting']['id']}/cancel")
