"""Without Redis nobody is held back."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from grading.keys import NewKey, make_key
from launcher.ports import free_port
from tests.app.conftest import client
from tests.conftest import empty
from tests.services.api_alone import start_api, url
from tests.services.broker import Broker
from tests.services.installation import Installation, installation, wait_for

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
