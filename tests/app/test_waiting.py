"""Waits over HTTP: how long, what says so, what ends them, and what becomes of the one too many."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from app.context import WAITERS_MAX
from tests.app.test_bad_input import TASK
from tests.services.api_alone import Alone, alone
from tests.services.broker import Broker
from tests.services.installation import wait_for

CAP_S = 1.0
LONG_S = 40.0  # a wait that ended in less was not waited for to its end
BODY = {"task_id": TASK, "code": "x"}


@pytest.fixture(scope="module")
def lone(postgres_url: str, session_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with alone(postgres_url, session_broker, tmp_path_factory.mktemp("waiting")) as made:
        yield made


@pytest.fixture
def waiting(lone: Alone) -> str:
    """A submission that nobody grades unless told to, alone in the queue."""
    lone.grade_all()
    name: str = lone.api.post("/submissions", json=BODY).json()["id"]
    return name


def test_a_wait_is_clamped_to_the_servers_cap(
    postgres_url: str, session_broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("capped")
    with alone(postgres_url, session_broker, folder, KERNEL_ENV_WAIT_MAX_S=str(CAP_S)) as capped:
        assert capped.api.get("/meta").json()["clocks"]["wait_max_s"] == CAP_S
        path = f"/submissions/{capped.api.post('/submissions', json=BODY).json()['id']}"
        batch = capped.api.post("/batches?wait=600", json={"items": [{"custom_id": "a", **BODY}]})
        assert batch.status_code == 202
        calls = [
            ("GET", path, {"params": {"wait": 600}}),
            ("GET", path, {"headers": {"Prefer": "wait=600"}}),
            ("POST", "/submissions", {"params": {"wait": 1e9}, "json": BODY}),
            ("GET", f"/batches/{batch.json()['id']}", {"params": {"wait": 600, "until": "any"}}),
        ]
        for method, where, more in calls:
            started = time.monotonic()
            answer = capped.api.request(method, where, **more)
            assert answer.status_code == (202 if method == "POST" else 200)
            assert CAP_S * 0.9 <= time.monotonic() - started < LONG_S
            if "headers" in more:
                assert answer.headers["Preference-Applied"] == "wait=1"


def test_a_preference_is_answered_and_gives_way_to_the_parameter(lone: Alone, waiting: str) -> None:
    path = f"/submissions/{waiting}"
    both = lone.api.get(f"{path}?wait=0", headers={"Prefer": "wait=60"})
    assert "Preference-Applied" not in both.headers
    lone.grade()
    for preferred, applied in (("wait=5", "wait=5"), ("respond-async, wait=3600", "wait=60"), ("wait=0", "wait=0")):
        answer = lone.api.get(path, headers={"Prefer": preferred})
        assert answer.headers["Preference-Applied"] == applied
    posted = lone.api.post("/submissions", json={**BODY, "episode_id": "ep_x"}, headers={"Prefer": "wait=1"})
    assert posted.status_code == 422


def test_an_end_wakes_all_who_wait_for_it(lone: Alone, waiting: str) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(lone.api.get, f"/submissions/{waiting}?wait=60") for _ in range(20)]
        wait_for(lambda: waiters(lone) == 20, 30, "20 who wait")
        started = time.monotonic()
        assert lone.grade() == waiting
        assert {answer.result().json()["verdict"] for answer in answers} == {"correct"}
        assert time.monotonic() - started < LONG_S / 4


def test_an_end_that_nobody_hinted_at_is_found(lone: Alone, waiting: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lone.api.get, f"/submissions/{waiting}?wait=60")
        wait_for(lambda: waiters(lone) == 1, 30, "one who waits")
        started = time.monotonic()
        assert lone.grade_all() == [waiting]
        assert answer.result().json()["status"] == "completed"
        assert time.monotonic() - started < LONG_S


def test_past_the_cap_of_waiters_the_answer_comes_at_once(lone: Alone, waiting: str) -> None:
    """With real connections, as many as there are places."""
    address = (lone.api.base_url.host, lone.api.base_url.port or 80)
    request = f"GET /submissions/{waiting}?wait=60 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    connections = [socket.create_connection(address, timeout=90) for _ in range(WAITERS_MAX)]
    try:
        for connection in connections:
            connection.sendall(request)
        wait_for(lambda: waiters(lone) == WAITERS_MAX, 60, "as many as may wait")
        started = time.monotonic()
        answer = lone.api.get(f"/submissions/{waiting}?wait=60")
        assert time.monotonic() - started < LONG_S
        assert (answer.status_code, answer.json()["status"]) == (200, "queued")
        assert int(answer.headers["Retry-After"]) >= 1
        assert lone.api.get("/healthz").status_code == 200
        lone.grade()
        for connection in connections:
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
    finally:
        for connection in connections:
            connection.close()
    wait_for(lambda: waiters(lone) == 0, 30, "all to have gone")


def test_a_server_that_is_to_end_answers_those_who_wait(lone: Alone, waiting: str) -> None:
    answers: list[httpx.Response] = []
    waiter = threading.Thread(target=lambda: answers.append(lone.api.get(f"/submissions/{waiting}?wait=60")))
    waiter.start()
    wait_for(lambda: waiters(lone) == 1, 30, "one who waits")
    started = time.monotonic()
    lone.restart(signal.SIGTERM)
    waiter.join()
    assert time.monotonic() - started < LONG_S
    assert (answers[0].status_code, answers[0].json()["status"]) == (200, "queued")
    assert lone.api.get(f"/submissions/{waiting}").json()["status"] == "queued"


def waiters(lone: Alone) -> int:
    """How many requests wait, as the server counts."""
    for line in lone.api.get("/metrics").text.splitlines():
        if line.startswith("kernel_grader_waiting_requests"):
            return int(float(line.rpartition(" ")[2]))
    return 0
