"""Submissions over HTTP, with a real worker and the mock evaluator."""

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.app.test_episodes import TASK, grade, source


def submit(api: httpx.Client, mock: str, **body: Any) -> dict[str, Any]:
    response = api.post("/submissions", json={"task_id": TASK, "code": source(mock), **body})
    assert response.status_code == 202, response.text
    submission: dict[str, Any] = response.json()
    return submission


def test_a_task_alone_needs_no_episode(api: httpx.Client) -> None:
    submission = grade(api, task_id=TASK, code=source("correct speedup=4.0"))
    assert (submission["episode_id"], submission["turn"], submission["reward"]) == (None, None, 2.3)
    assert submission["queue"] is None
    assert submission["error"] is None
    assert submission["code_sha"] == hashlib.sha1(source("correct speedup=4.0").encode()).hexdigest()[:12]


def test_a_submission_is_answered_at_once_and_polled(api: httpx.Client) -> None:
    submission = submit(api, "correct eval_s=0.5")
    assert submission["status"] in ("queued", "running")
    assert submission["reward"] is None
    response = api.get(f"/submissions/{submission['id']}", params={"wait": 30})
    assert response.status_code == 200
    assert response.json()["status"] == "completed"


def test_waiting_by_preference(api: httpx.Client) -> None:
    submission = submit(api, "correct eval_s=0.5")
    response = api.get(f"/submissions/{submission['id']}", headers={"Prefer": "respond-async, wait=30"})
    assert response.json()["status"] == "completed"
    assert response.headers["Preference-Applied"] == "wait=30"


def test_time_that_runs_out_is_no_error(api: httpx.Client) -> None:
    submission = submit(api, "correct eval_s=20")
    response = api.get(f"/submissions/{submission['id']}", params={"wait": 0.2})
    assert response.status_code == 200
    assert response.json()["status"] in ("queued", "running")
    cancelled = api.post(f"/submissions/{submission['id']}/cancel").json()
    assert (cancelled["status"], cancelled["error"]["code"], cancelled["reward"]) == ("cancelled", "cancelled", None)


def test_cancelling_wakes_those_who_wait(api: httpx.Client) -> None:
    submission = submit(api, "correct eval_s=20")
    started = time.monotonic()
    timer = threading.Timer(0.3, api.post, args=[f"/submissions/{submission['id']}/cancel"])
    timer.start()
    answer = api.get(f"/submissions/{submission['id']}", params={"wait": 60}).json()
    timer.join()
    assert answer["status"] == "cancelled"
    assert time.monotonic() - started < 50


def test_many_wait_at_once_and_all_are_answered(api: httpx.Client) -> None:
    limits = httpx.Limits(max_connections=100)
    with httpx.Client(base_url=api.base_url, timeout=90, limits=limits) as client, ThreadPoolExecutor(60) as pool:
        body = {"task_id": TASK, "code": source("correct eval_s=0.05")}
        ids = [client.post("/submissions", json=body).json()["id"] for _ in range(20)]
        answers = list(pool.map(lambda key: client.get(f"/submissions/{key}?wait=60").json(), ids * 3))
    assert {answer["status"] for answer in answers} == {"completed"}
    assert [answer["id"] for answer in answers] == ids * 3


def test_sending_twice_with_one_key_grades_once(api: httpx.Client) -> None:
    headers = {"Idempotency-Key": "submit-1"}
    body = {"task_id": TASK, "code": source("correct")}
    first = api.post("/submissions?wait=30", json=body, headers=headers)
    again = api.post("/submissions?wait=30", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"


def test_the_source_comes_back_as_it_was(api: httpx.Client) -> None:
    code = "# ünïcödé 🙂\r\n" + source("incorrect")
    submission = grade(api, task_id=TASK, code=code)
    response = api.get(f"/submissions/{submission['id']}/code")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == code


def test_the_reward_under_another_setting(api: httpx.Client) -> None:
    wrong = grade(api, task_id=TASK, code=source("incorrect"))
    path = f"/submissions/{wrong['id']}/reward"
    assert api.get(path).json() == {
        "submission_id": wrong["id"], "mode": "speedup", "partial_credit": False, "reward": 0.0
    }  # fmt: skip
    assert api.get(path, params={"partial_credit": "true"}).json()["reward"] == 0.05
    right = grade(api, task_id=TASK, code=source("correct speedup=2.0"))
    again = api.get(f"/submissions/{right['id']}/reward", params={"mode": "roofline"}).json()
    assert (again["mode"], again["reward"]) == ("roofline", 1.3)


def test_a_deadline_ends_what_was_not_graded(api: httpx.Client) -> None:
    blocker = submit(api, "correct eval_s=30", priority="high")
    late = submit(api, "correct", deadline_s=1)
    ended = api.get(f"/submissions/{late['id']}", params={"wait": 30}).json()
    assert (ended["status"], ended["reward"], ended["error"]["code"]) == ("expired", None, "deadline_passed")
    api.post(f"/submissions/{blocker['id']}/cancel")


def test_health_and_meta(api: httpx.Client) -> None:
    assert api.get("/healthz").json()["status"] == "ok"
    ready = api.get("/readyz").json()
    assert (ready["status"], ready["broker"]) == ("ok", True)
    assert ready["workers"] >= 1
    meta = api.get("/meta").json()
    assert meta["evaluator"] == "mock"
    assert meta["clocks"]["wait_max_s"] == 60
