"""The broker or the database is away, empty or frozen for a while: work is taken in, goes on and ends once."""

import os
import signal
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from grading.models import Attempt, Submission
from grading.states import AttemptEnd, SubmissionStatus
from tests.chaos.audit import violations
from tests.chaos.conftest import WORKERS, Scale
from tests.chaos.parts import send
from tests.chaos.stage import Stage, seconds_since
from tests.chaos.trainers import Trainer
from tests.services.installation import source, wait_for

SENDERS = 8
SOON_S = 30.0


def completed(made: Stage, ids: Sequence[str]) -> int:
    return sum(made.installed.row(i).status is SubmissionStatus.COMPLETED for i in ids)


def send_all(client: Trainer, count: int, directive: str) -> list[str]:
    with ThreadPoolExecutor(SENDERS) as pool:
        return list(pool.map(lambda n: client.submit(f"{n}", source(directive, n)), range(count)))


def ends(made: Stage, ids: Sequence[str]) -> list[AttemptEnd | None]:
    with made.db.read() as session:
        return list(session.scalars(select(Attempt.outcome).where(Attempt.submission_id.in_(ids))))


def test_redis_comes_back_empty(made: Stage, client: Trainer, figures: dict[str, Any]) -> None:
    ids = send_all(client, 16, "correct eval_s=0.2")
    wait_for(lambda: completed(made, ids) > 0, SOON_S, "a first verdict", made.tails)
    made.keeper.kill("redis", down_s=1.0)
    wait_for(made.keeper.all_running, SOON_S, "Redis", made.tails)
    started, before = time.monotonic(), len(ends(made, ids))
    wait_for(lambda: len(ends(made, ids)) > before, SOON_S, "work to go on", made.tails)
    figures[f"redis_restarted_empty_next_claim_s_{made.kind}"] = seconds_since(started)
    made.installed.wait_ended(ids)
    assert ends(made, ids) == [AttemptEnd.VERDICT] * len(ids)
    assert violations(made.db) == []


def test_redis_is_frozen(made: Stage, client: Trainer, scale: Scale, figures: dict[str, Any]) -> None:
    count = scale.pick(60, 600)
    os.kill(made.broker.pid, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(SENDERS) as pool:
            taken = list(pool.map(lambda n: timed_submit(client, n), range(count)))
    finally:
        os.kill(made.broker.pid, signal.SIGCONT)
    latencies = sorted(seconds for _, seconds in taken)
    figures[f"redis_frozen_post_s_{made.kind}"] = {
        "requests": count,
        "at_once": SENDERS,
        "p50": round(statistics.median(latencies), 3),
        "p99": round(latencies[int(0.99 * count)], 3),
        "max": round(latencies[-1], 3),
    }
    ids = [submission_id for submission_id, _ in taken]
    ended = made.installed.wait_ended(ids, 300)
    assert {row.verdict for row in ended} == {"correct"}
    assert ends(made, ids) == [AttemptEnd.VERDICT] * count
    assert client.met.total() == 0, "nothing was refused"
    assert violations(made.db) == []


def timed_submit(client: Trainer, number: int) -> tuple[str, float]:
    started = time.monotonic()
    return client.submit(f"{number}", source(salt=number)), time.monotonic() - started


def test_postgres_is_away(made: Stage, client: Trainer, scale: Scale, figures: dict[str, Any]) -> None:
    """For more than two leases: grades that run go on, and are written down when it is back."""
    if made.postgres is None:
        pytest.skip("there is no server to lose")
    down_s = scale.pick(7, 120)
    long = send_all(client, WORKERS, f"correct eval_s={down_s / 2}")
    wait_for(lambda: all(made.installed.row(i).phase for i in long), SOON_S, "the grades to be under way", made.tails)
    short = [client.submit(f"short-{n}", source(salt=n)) for n in range(2 * WORKERS)]
    made.keeper.kill("postgres", down_s=down_s)
    wait_for(made.keeper.all_running, down_s + SOON_S, "Postgres", made.tails)
    started = time.monotonic()
    made.installed.wait_ended([*long, *short], 120)
    figures["postgres_away"] = {"seconds": down_s, "all_ended_after_s": seconds_since(started)}
    assert ends(made, [*long, *short]) == [AttemptEnd.VERDICT] * len([*long, *short])
    assert violations(made.db) == []


def test_postgres_is_frozen(made: Stage, client: Trainer, scale: Scale) -> None:
    """Its connections stay open and say nothing, past two leases."""
    scale.only(made, ())
    if made.postgres is None:
        pytest.skip("there is no server to freeze")
    ids = send_all(client, 4 * WORKERS, "correct eval_s=0.5")
    wait_for(lambda: completed(made, ids) > 0, SOON_S, "a first verdict", made.tails)
    family = made.postgres.family()
    for process in family:
        send(process, signal.SIGSTOP)
    time.sleep(2 * made.installed.settings.leases.lease_s + 1)
    for process in family:
        send(process, signal.SIGCONT)
    made.installed.wait_ended(ids, 120)
    with made.db.read() as session:
        rows = session.scalars(select(Submission).where(Submission.id.in_(ids))).all()
    assert {row.verdict for row in rows} == {"correct"}
    assert violations(made.db) == []
