"""Workers are restarted under load, lost while they grade, and told to drop what they grade."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select

from grading.models import Attempt
from grading.states import AttemptEnd
from tests.chaos.audit import violations
from tests.chaos.conftest import GIVE_UP_S, WORKERS, Scale
from tests.chaos.stage import Stage, seconds_since, stage
from tests.chaos.trainers import Trainer, trainer
from tests.services.installation import KERNEL, UNDER_WAY, Process, source, wait_for
from tests.services.processes import alive

ENDLESS = KERNEL.replace("y = torch", "while True: pass\n        y = torch")
SOON_S = 60.0
# those of the settings that tests shorten, at their defaults
DEFAULTS = {
    "KERNEL_ENV_LEASE_S": "30",
    "KERNEL_ENV_RENEW_S": "10",
    "KERNEL_ENV_SLOT_LEASE_S": "15",
    "KERNEL_ENV_IDLE_LOOK_S": "2",
    "KERNEL_ENV_REAP_S": "5",
    "KERNEL_ENV_DRAIN_S": "20",
}


def test_a_rolling_restart_under_load(made: Stage, client: Trainer, scale: Scale) -> None:
    """Each worker in turn is asked to end and started again: what it graded ends or goes back, at no cost."""
    scale.only(made, ("postgres",))
    count = scale.pick(40, 200)
    with ThreadPoolExecutor(8) as pool:
        taken = [pool.submit(client.submit, f"{n}", source("correct eval_s=0.3", n)) for n in range(count)]
        for number in range(WORKERS):
            name = f"worker-{number}"
            before = made.keeper.starts[name]
            made.keeper.kill(name, "term")
            wait_for(lambda: made.keeper.starts[name] > before, SOON_S, "its end", made.tails)  # noqa: B023
            made.wait_until_ready(WORKERS)
        ids = [each.result() for each in taken]
    ended = made.installed.wait_ended(ids, GIVE_UP_S)
    assert {(row.verdict, row.losses) for row in ended} == {("correct", 0)}
    with made.db.read() as session:
        outcomes = Counter(session.scalars(select(Attempt.outcome).where(Attempt.submission_id.in_(ids))))
    assert outcomes.keys() <= {AttemptEnd.VERDICT, AttemptEnd.HANDED_BACK}
    assert violations(made.db) == []


@pytest.fixture
def by_default(tmp_path: Path, scale: Scale) -> Iterator[Stage]:
    """An installation with the leases that users have."""
    if not scale.full:
        pytest.skip("left to `make chaos`")
    with stage("postgres", tmp_path, **DEFAULTS) as made:
        made.add_api()
        made.add_reaper()
        for number in range(WORKERS):
            made.add_worker(number)
        made.wait_until_ready(WORKERS)
        yield made


def test_lost_while_grading(by_default: Stage, figures: dict[str, Any]) -> None:
    made = by_default
    with trainer(made.url, "run", GIVE_UP_S) as client:
        episode_id = client.open_episode("episode", 3)
        taken = client.submit("turn", source("correct eval_s=12"), episode_id=episode_id)
        part = worker_of(made, taken)
        started = time.monotonic()
        made.keeper.kill(part, "all", down_s=GIVE_UP_S)
        wait_for(lambda: made.installed.row(taken).attempt == 2, 2 * SOON_S, "another attempt", made.tails)
        figures["worker_lost_next_attempt_s"] = seconds_since(started)
        (ended,) = made.installed.wait_ended([taken])
        assert (ended.verdict, ended.attempt) == ("correct", 2)
        assert client.request("GET", f"/episodes/{episode_id}").json()["turn"] == 2
        assert violations(made.db) == []


def test_told_to_stop_in_a_long_grade(by_default: Stage, figures: dict[str, Any]) -> None:
    made = by_default
    with trainer(made.url, "run", GIVE_UP_S) as client:
        taken = client.submit("long", source("correct eval_s=500"))
        started = time.monotonic()
        made.keeper.kill(worker_of(made, taken), "term", down_s=GIVE_UP_S)
        wait_for(lambda: made.installed.row(taken).fence > 1, 2 * SOON_S, "the hand-back", made.tails)
        figures["terminated_handed_back_s"] = seconds_since(started)
        assert made.installed.row(taken).losses == 0
        client.request("POST", f"/submissions/{taken}/cancel")
        assert violations(made.db) == []


def worker_of(made: Stage, submission_id: str) -> str:
    """The part that grades it, once it does."""
    wait_for(lambda: made.installed.row(submission_id).phase in UNDER_WAY, SOON_S, "the grade to begin", made.tails)
    return f"worker-{(made.installed.row(submission_id).slot_id or '')[-1]}"


@pytest.fixture
def on_cpu(tmp_path: Path) -> Iterator[Stage]:
    """An installation that grades for real, with Triton's interpreter."""
    with stage("sqlite", tmp_path, KERNEL_ENV_EVALUATOR="cpu", **DEFAULTS) as made:
        made.add_api()
        made.add_worker(0)
        made.wait_until_ready(1)
        yield made


def test_cancelling_a_real_grade_kills_its_runner(on_cpu: Stage, figures: dict[str, Any]) -> None:
    with trainer(on_cpu.url, "run", GIVE_UP_S) as client:
        (worker,) = [process for process in on_cpu.installed.processes if process.log.name.startswith("worker")]
        before = worker.children()
        taken = client.submit("endless", ENDLESS)
        wait_for(lambda: on_cpu.installed.row(taken).phase == "correctness", SOON_S, "the endless loop", worker.tail)
        wait_for(lambda: len(busy(worker, before)) > 0, SOON_S, "its runner", worker.tail)
        looping = busy(worker, before)
        started = time.monotonic()
        client.request("POST", f"/submissions/{taken}/cancel")
        answered_s = seconds_since(started)
        gone_s = seconds_until_gone(looping, started)
        figures["cancel_running_cpu"] = {"answered_s": answered_s, "runner_gone_s": gone_s}
        print(figures["cancel_running_cpu"])
        assert client.wait_ended(taken)["status"] == "cancelled"
        again = client.submit("honest", KERNEL)
        assert client.wait_ended(again)["verdict"] == "correct"
        assert violations(on_cpu.db) == []


def busy(worker: Process, before: list[psutil.Process]) -> list[psutil.Process]:
    """Those of a worker's new descendants that compute: the candidate's runner; the reference's has nothing to do."""
    new = [child for child in worker.children() if child not in before]
    used_s = {child: child.cpu_times().user for child in new}
    time.sleep(0.5)
    return [child for child in new if child.cpu_times().user > used_s[child] + 0.05]


def seconds_until_gone(processes: list[psutil.Process], started: float) -> float:
    """When the last of them had ended, seconds after `started`."""
    while any(alive(process) for process in processes):
        assert time.monotonic() - started < SOON_S, "the runner lives on"
        time.sleep(0.005)
    return seconds_since(started)
