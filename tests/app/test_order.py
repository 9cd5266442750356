"""Who is graded next, over HTTP: priority, then fairness between runs, then age; and the places that are told."""

import datetime
import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.test_bad_input import TASK
from tests.services.api_alone import Alone, alone
from tests.services.broker import Broker
from tests.services.installation import wait_for


@pytest.fixture(scope="module")
def module_lone(postgres_url: str, session_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with alone(postgres_url, session_broker, tmp_path_factory.mktemp("order")) as made:
        yield made


@pytest.fixture
def lone(module_lone: Alone) -> Alone:
    """With nothing in the queue."""
    module_lone.grade_all()
    return module_lone


def submit(lone: Alone, **more: Any) -> str:
    response = lone.api.post("/submissions", json={"task_id": TASK, "code": "x", **more})
    assert response.status_code == 202, response.text
    name: str = response.json()["id"]
    return name


def test_priority_goes_before_age(lone: Alone) -> None:
    low, normal, high = (submit(lone, priority=priority) for priority in ("low", "normal", "high"))
    assert lone.grade_all() == [high, normal, low]


def test_runs_take_turns_inside_a_priority(lone: Alone) -> None:
    many = [submit(lone, run_id="many") for _ in range(6)]
    few = [submit(lone, run_id="few") for _ in range(2)]
    order = lone.grade_all()
    assert sorted(order) == sorted(many + few)
    assert max(order.index(name) for name in few) <= 4, "a run with few waited for all of the other's"
    assert [name for name in order if name in many] == many


def test_a_batch_is_a_run_among_others(lone: Alone) -> None:
    items = [{"custom_id": str(n), "task_id": TASK, "code": "x", "run_id": "batch"} for n in range(8)]
    lone.api.post("/batches", json={"items": items})
    single = submit(lone, run_id="single")
    assert lone.grade_all().index(single) <= 2


def test_another_kind_of_gpu_is_waited_for(lone: Alone) -> None:
    elsewhere, here = submit(lone, gpu="b300"), submit(lone, gpu=lone.slot.kind)
    assert lone.grade_all() == [here]
    assert lone.api.get(f"/submissions/{elsewhere}").json()["status"] == "queued"
    lone.api.post(f"/submissions/{elsewhere}/cancel")


def test_places_and_times_are_told_and_are_numbers(lone: Alone) -> None:
    names = [submit(lone, priority=priority) for priority in ("normal", "normal", "high", "low")]

    def places() -> list[dict[str, Any]]:
        return [lone.api.get(f"/submissions/{name}").json()["queue"] for name in names]

    # they are told from a picture of the queue that is about a second old
    wait_for(lambda: [place["position"] for place in places()] == [2, 3, 1, 4], 30, "places by priority and age")
    assert all(place["eta_s"] is None or math.isfinite(place["eta_s"]) for place in places())
    lone.settle()
    assert lone.api.get("/queue").json()["by_priority"] == {"high": 1, "normal": 2, "low": 1}
    taken = lone.take()
    assert taken is not None
    assert taken.submission_id == names[2]
    running = lone.api.get(f"/submissions/{names[2]}").json()
    assert (running["status"], running["queue"], running["attempt"]) == ("running", None, 1)
    lone.api.post(f"/submissions/{names[2]}/cancel")


def test_deadlines_are_an_hour_unless_another_is_asked_for(lone: Alone) -> None:
    for more, seconds in (({}, 3600), ({"deadline_s": 60}, 60)):
        found = lone.api.get(f"/submissions/{submit(lone, **more)}").json()
        created, deadline = (float(read_ms(found[name])) for name in ("created_at", "deadline_at"))
        assert deadline - created == 1000 * seconds


def read_ms(time: str) -> int:
    """RFC 3339 in UTC, with milliseconds."""
    assert time.endswith("Z")
    return round(1000 * datetime.datetime.fromisoformat(time).timestamp())
