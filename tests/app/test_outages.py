"""Without Redis nobody is held back, and with too many waiting clients the next is told so."""

import dataclasses
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from app.context import make_context
from app.factory import create_app
from app.waiters import Room, Waiters
from grading import jobs
from grading.db import Database
from grading.jobs import NewSubmission
from grading.keys import NewKey, make_key
from grading.models import Submission
from grading.settings import Settings
from tests.app.conftest import client
from tests.conftest import empty
from tests.services.api_alone import start_api, url
from tests.services.broker import Broker
from tests.services.installation import Installation, installation, wait_for
from tests.services.ports import free_port

SLOW_S = 1.0


@pytest.fixture
def served(postgres_url: str, broker: Broker, tmp_path: Path) -> Iterator[tuple[Installation, httpx.Client]]:
    """An API that wants keys, and a client with one; nothing else runs."""
    empty(postgres_url)
    with installation(postgres_url, broker, tmp_path, PORT=str(free_port()), KERNEL_ENV_AUTH="1") as here:
        token = make_key(here.db, NewKey("project", "trainer", rate_per_minute=100))[1]
        start_api(here)
        with client(url(here), {"Authorization": f"Bearer {token}"}) as made:
            yield here, made


def test_a_frozen_redis_costs_one_request_half_a_second_and_refuses_none(
    served: tuple[Installation, httpx.Client],
) -> None:
    here, api = served
    assert "RateLimit" in api.get("/meta").headers
    redis = psutil.Process(here.broker.pid)
    redis.send_signal(signal.SIGSTOP)
    try:
        spans = []
        for number in range(120):  # more than the key may send
            started = time.monotonic()
            response = api.post("/submissions", json={"task_id": "level1/19_ReLU", "code": f"{number}"})
            spans.append(time.monotonic() - started)
            assert response.status_code == 202
            assert "RateLimit" not in response.headers
    finally:
        redis.send_signal(signal.SIGCONT)
    assert sum(span > SLOW_S for span in spans) <= 2
    wait_for(lambda: "RateLimit" in api.get("/meta").headers, 30, "counting to go on")


def test_past_the_cap_the_answer_is_immediate_and_says_when_to_come_back(tmp_path: Path, sqlite_template: Path) -> None:
    address = f"sqlite:///{tmp_path / 'crowded.db'}"
    Path(tmp_path / "crowded.db").write_bytes(sqlite_template.read_bytes())
    context = make_context(
        Settings.load({"DATABASE_URL": address, "KERNEL_ENV_DATA_DIR": str(tmp_path), "KERNEL_ENV_EVALUATOR": "mock"})
    )
    full: Waiters[Submission] = Waiters(lambda ids: {}, Room(0))
    app = create_app(dataclasses.replace(context, waiters=full)).test_client()
    new = NewSubmission("default", "code", task_id="level1/19_ReLU")
    submitted = jobs.submit(Database(address), b"a secret of the tests", new).row
    response = app.get(f"/submissions/{submitted.id}?wait=60")
    assert (response.status_code, response.json["status"]) == (200, "queued")
    assert int(response.headers["Retry-After"]) >= 1
    jobs.cancel_submission(Database(address), "default", submitted.id)
    assert "Retry-After" not in app.get(f"/submissions/{submitted.id}?wait=60").headers
