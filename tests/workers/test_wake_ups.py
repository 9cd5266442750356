"""No row is left waiting: not when bells get lost, not when many slots and submitters race."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from grading.celery_app import make_celery
from grading.models import Attempt, Submission
from grading.states import SubmissionStatus
from tests.services.installation import Installation, Process, source, wait_for

SUBMISSIONS = 250
SLOTS = 4


def start_workers(installed: Installation, count: int) -> list[Process]:
    workers = [installed.start_worker(number, ready=False) for number in range(count)]
    for worker in workers:
        worker.wait_logged("slot_ready")
    return workers


def wait_all(installed: Installation, count: int, timeout_s: float) -> None:
    def all_ended() -> bool:
        with installed.db.read() as session:
            done = select(func.count()).where(Submission.status == SubmissionStatus.COMPLETED)
            return session.scalars(done).one() == count

    wait_for(all_ended, timeout_s, f"{count} verdicts")


def test_many_submissions_through_four_slots_without_a_reaper(installed: Installation) -> None:
    start_workers(installed, SLOTS)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda n: installed.submit(source("correct eval_s=0.01", n)), range(SUBMISSIONS)))
    wait_all(installed, SUBMISSIONS, 150)
    with installed.db.read() as session:
        attempts = session.scalars(select(Attempt)).all()
    assert len(attempts) == len(rows) == SUBMISSIONS
    assert all(attempt.outcome == "verdict" for attempt in attempts)
    share = Counter(attempt.slot_id for attempt in attempts)
    assert len(share) == SLOTS
    assert min(share.values()) > SUBMISSIONS / SLOTS / 2, share


def test_a_broker_that_lost_everything(installed: Installation) -> None:
    rows = [installed.submit(source("correct eval_s=0.05", n)) for n in range(20)]
    start_workers(installed, 1)
    wait_for(lambda: any(installed.row(row.id).status == "completed" for row in rows), 30, "a first verdict")
    installed.broker.empty()
    ended = installed.wait_ended([row.id for row in rows], 30)
    assert {row.verdict for row in ended} == {"correct"}


def test_submitted_while_the_broker_is_away(installed: Installation) -> None:
    start_workers(installed, 1)
    installed.broker.kill()
    rows = [installed.submit(source(salt=n)) for n in range(5)]
    installed.broker.start()
    ended = installed.wait_ended([row.id for row in rows], 30)
    assert {row.attempt for row in ended} == {1}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_worker_that_is_deaf_to_its_bells_ends_itself(installed: Installation) -> None:
    worker = installed.start_worker(KERNEL_ENV_DEAF_S="1")
    installed.wait_ended([installed.submit(source()).id])
    with make_celery(installed.settings) as celery:
        celery.control.cancel_consumer("gpu.mock.testhost.0", reply=True)
    installed.submit(source(salt="unheard"))
    assert worker.wait(30) == 75, worker.tail()
    assert "slot_deaf" in worker.log.read_text()


def test_submitted_before_there_is_a_slot(installed: Installation) -> None:
    row = installed.submit(source())
    start_workers(installed, 1)
    installed.wait_ended([row.id], 30)
