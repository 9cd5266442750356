"""What happens to a running grade when its worker is told to stop, killed, frozen or cancelled."""

import time

from sqlalchemy import select

from grading import jobs
from grading.events import Publisher
from grading.models import Attempt, Episode, Slot
from grading.states import AttemptEnd, SlotState, SubmissionStatus
from tests.services.installation import PROJECT, UNDER_WAY, Installation, source, wait_for


def wait_running(installed: Installation, submission_id: str) -> None:
    wait_for(lambda: installed.row(submission_id).phase in UNDER_WAY, 30, "the grade to be under way")


def outcomes(installed: Installation, submission_id: str) -> list[AttemptEnd | None]:
    with installed.db.read() as session:
        found = select(Attempt).where(Attempt.submission_id == submission_id).order_by(Attempt.fence)
        return [attempt.outcome for attempt in session.scalars(found)]


def turns_used(installed: Installation, episode_id: str) -> int:
    with installed.db.read() as session:
        episode = session.get(Episode, episode_id)
        assert episode is not None
        return episode.turns_used


def new_episode(installed: Installation) -> str:
    return jobs.create_episode(installed.db, jobs.NewEpisode(PROJECT, "level1/19_ReLU", "do it", 3)).row.id


def test_killed_in_the_middle_of_a_grade(installed: Installation) -> None:
    worker = installed.start_worker()
    installed.start_reaper()
    episode_id = new_episode(installed)
    row = installed.submit(source("correct eval_s=2"), episode_id=episode_id)
    wait_running(installed, row.id)
    worker.kill()
    installed.start_worker(1)
    (ended,) = installed.wait_ended([row.id])
    assert ended.status is SubmissionStatus.COMPLETED
    assert ended.attempt == 2
    assert outcomes(installed, row.id) == [AttemptEnd.LOST, AttemptEnd.VERDICT]
    assert turns_used(installed, episode_id) == 1


def test_a_frozen_worker_that_wakes_up_writes_nothing(installed: Installation) -> None:
    frozen = installed.start_worker()
    installed.start_reaper()
    row = installed.submit(source("correct speedup=2.0 eval_s=2"))
    wait_running(installed, row.id)
    frozen.freeze()
    installed.start_worker(1)
    (ended,) = installed.wait_ended([row.id])
    frozen.thaw()
    wait_for(lambda: "verdict_dropped" in frozen.log.read_text(), 30, "the frozen worker to give up", frozen.tail)
    assert installed.row(row.id).fence == ended.fence
    assert ended.slot_id == "mock-testhost-1"
    assert outcomes(installed, row.id) == [AttemptEnd.LOST, AttemptEnd.VERDICT]


def test_terminated_with_a_short_grade_finishes_it(installed: Installation) -> None:
    worker = installed.start_worker(KERNEL_ENV_DRAIN_S="20")
    row = installed.submit(source("correct eval_s=2"))
    wait_running(installed, row.id)
    worker.terminate()
    ended = installed.row(row.id)
    assert ended.status is SubmissionStatus.COMPLETED, worker.tail()
    assert ended.attempt == 1


def test_terminated_with_a_long_grade_hands_it_back_at_no_cost(installed: Installation) -> None:
    worker = installed.start_worker()
    row = installed.submit(source("correct eval_s=500"))
    wait_running(installed, row.id)
    worker.terminate()
    back = installed.row(row.id)
    assert back.status is SubmissionStatus.QUEUED, worker.tail()
    assert back.losses == 0
    assert outcomes(installed, row.id) == [AttemptEnd.HANDED_BACK]
    with installed.db.read() as session:
        slot = session.get(Slot, "mock-testhost-0")
        assert slot is not None
        assert slot.state is SlotState.GONE


def test_cancelling_ends_a_running_grade_at_once(installed: Installation) -> None:
    worker = installed.start_worker()
    row = installed.submit(source("correct eval_s=500"))
    wait_running(installed, row.id)
    cancelled = jobs.cancel_submission(installed.db, PROJECT, row.id)
    started = time.monotonic()
    Publisher(installed.settings.redis_url).cancelled(cancelled)
    after = installed.submit(source())
    wait_for(lambda: "claim_lost" in worker.log.read_text(), 5, "the grade to be killed", worker.tail)
    print(f"killed after {time.monotonic() - started:.2f} s")
    installed.wait_ended([after.id])
    assert installed.row(row.id).status is SubmissionStatus.CANCELLED
    assert outcomes(installed, row.id) == [AttemptEnd.CANCELLED]


def test_cancelling_without_a_broker(installed: Installation) -> None:
    worker = installed.start_worker()
    row = installed.submit(source("correct eval_s=500"))
    wait_running(installed, row.id)
    installed.broker.kill()
    jobs.cancel_submission(installed.db, PROJECT, row.id)
    wait_for(lambda: "claim_lost" in worker.log.read_text(), 10, "the grade to be killed", worker.tail)
