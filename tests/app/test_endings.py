"""Every way in which episodes and submissions end, as the API tells it; without a verdict no turn is taken."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from evaluator.errors import GraderFault
from evaluator.verdicts import Verdict
from grading import jobs
from grading.errors import FenceLost
from grading.jobs import Reaper
from grading.models import Episode, Submission
from tests.app.test_bad_input import TASK, assert_problem
from tests.grading.support import LAPSED, LEASES, claim, report
from tests.services.api_alone import Alone, alone
from tests.services.broker import Broker

DAY_MS = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def lone(postgres_url: str, session_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with alone(postgres_url, session_broker, tmp_path_factory.mktemp("endings")) as made:
        yield made


def open_turn(lone: Alone, **more: Any) -> tuple[str, str]:
    """(a new episode, a submission for its first turn), with nothing else in the queue."""
    lone.grade_all()
    episode = lone.api.post("/episodes", json={"task_id": TASK}).json()["id"]
    response = lone.api.post("/submissions", json={"episode_id": episode, "code": "x", "turn": 1, **more})
    assert response.status_code == 202
    lone.settle()
    return episode, response.json()["id"]


def read(lone: Alone, name: str) -> dict[str, Any]:
    kind = "episodes" if name.startswith("ep_") else "submissions"
    found: dict[str, Any] = lone.api.get(f"/{kind}/{name}").json()
    return found


def assert_turn_is_free(lone: Alone, episode: str, ended: str) -> None:
    """An ending without a verdict: no reward, a reason, and the same turn may be sent again."""
    row = read(lone, ended)
    assert (row["verdict"], row["reward"], row["result"]) == (None, None, None)
    assert all(row["error"][name] for name in ("code", "title", "detail"))
    assert row["finished_at"] is not None
    state = read(lone, episode)
    assert (state["turn"], state["history"], state["done"]) == (1, [], False)
    again = lone.api.post("/submissions", json={"episode_id": episode, "code": "x", "turn": 1})
    assert again.status_code == 202
    lone.settle()
    lone.grade(Verdict.INCORRECT)
    assert [turn["verdict"] for turn in read(lone, episode)["history"]] == ["incorrect"]


def test_lost_three_times_it_has_failed(lone: Alone) -> None:
    episode, name = open_turn(lone)
    reaper = Reaper(lone.here.db, LAPSED)
    for attempt in (1, 2, 3):
        taken = claim(lone.here.db, lone.slot, LAPSED)
        assert taken is not None
        assert taken.attempt == attempt
        assert read(lone, name)["status"] == "running"
        reaper.run_once()
    row = read(lone, name)
    assert (row["status"], row["attempt"], row["error"]["retryable"]) == ("failed", 3, True)
    attempts = lone.api.get(f"/submissions/{name}/attempts").json()["data"]
    assert [(each["number"], each["outcome"]) for each in attempts] == [(1, "lost"), (2, "lost"), (3, "lost")]
    assert_turn_is_free(lone, episode, name)


def test_our_fault_is_told_as_ours(lone: Alone) -> None:
    episode, name = open_turn(lone)
    for _ in range(3):
        taken = lone.take()
        assert taken is not None
        jobs.finish_fault(lone.here.db, name, taken.fence, GraderFault("internal_error", "we fell over"), LEASES)
    row = read(lone, name)
    assert (row["status"], row["error"]["code"]) == ("failed", "internal_error")
    assert_turn_is_free(lone, episode, name)


def test_past_its_deadline_it_has_expired(lone: Alone) -> None:
    episode, name = open_turn(lone, deadline_s=3600)
    with lone.here.db.write() as session:
        late = update(Submission).where(Submission.id == name)
        session.execute(late.values(deadline_at_ms=Submission.created_at_ms))
    assert lone.take() is None
    Reaper(lone.here.db, LEASES).run_once()
    row = read(lone, name)
    assert (row["status"], row["error"]["code"]) == ("expired", "deadline_passed")
    assert_turn_is_free(lone, episode, name)


@pytest.mark.parametrize("running", [False, True])
def test_cancelled_it_stays_cancelled(lone: Alone, running: bool) -> None:
    episode, name = open_turn(lone)
    taken = lone.take() if running else None
    assert lone.api.post(f"/submissions/{name}/cancel").json()["status"] == "cancelled"
    if taken is not None:  # a worker that has not heard of it yet
        with pytest.raises(FenceLost):
            jobs.finish(lone.here.db, name, taken.fence, report())
    assert lone.api.post(f"/submissions/{name}/cancel").json()["status"] == "cancelled"
    assert_turn_is_free(lone, episode, name)


def test_an_episode_that_lies_idle_for_a_day_has_expired(lone: Alone) -> None:
    lone.grade_all()
    episode = lone.api.post("/episodes", json={"task_id": TASK}).json()["id"]
    for age_ms, status in ((DAY_MS - 60_000, "active"), (120_000, "expired")):
        with lone.here.db.write() as session:
            mine = update(Episode).where(Episode.id == episode)
            session.execute(mine.values(active_at_ms=Episode.active_at_ms - age_ms))
        Reaper(lone.here.db, lone.here.settings.leases).run_once()
        assert read(lone, episode)["status"] == status
    assert read(lone, episode)["done"] is True
    refused = lone.api.post("/submissions", json={"episode_id": episode, "code": "x"})
    assert_problem(refused, 409, "episode_finished")
    assert [row["id"] for row in lone.api.get("/episodes?status=expired").json()["data"]] == [episode]


def test_what_a_verdict_says(lone: Alone) -> None:
    episode, name = open_turn(lone)
    lone.grade(Verdict.CORRECT)
    row, turn = read(lone, name), read(lone, episode)["history"][0]
    assert (row["verdict"], row["stage"], row["error"]) == ("correct", "ok", None)
    assert row["id"].startswith("sub_")
    assert len(row["id"]) == len("sub_") + 26
    for field in ("stage", "verdict", "reward", "code_sha"):
        assert turn[field] == row[field]
    for field in ("speedup", "roofline_frac", "roofline_violation", "suspicious"):
        assert turn[field] == row["result"][field]
    assert turn["queue_wait_s"] == row["timings"]["queue_wait_s"]
    assert turn["phases"] == row["timings"]["phases"]
    assert turn["submission_id"] == name
    assert row["created_at"] <= row["started_at"] <= row["finished_at"] <= row["deadline_at"]
    assert read(lone, episode)["best_speedup"] == row["result"]["speedup"]
