"""Lanes of real workers: as many grades at once as a slot has lanes, and all that holds of one holds of several."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import select

from grading.models import Attempt, Slot
from grading.states import AttemptEnd, SlotState, SubmissionStatus
from tests.services.installation import Installation, source, wait_for


def attempts(installed: Installation) -> Sequence[Attempt]:
    with installed.db.read() as session:
        return session.scalars(select(Attempt)).all()


def slot(installed: Installation, number: int = 0) -> Slot:
    with installed.db.read() as session:
        return session.get_one(Slot, f"mock-testhost-{number}")


def most_at_once(done: Sequence[Attempt], slot_id: str) -> int:
    """How many grades of a slot overlapped, by the database's clock."""
    changes = []
    for attempt in done:
        if attempt.slot_id == slot_id and attempt.ended_at_ms is not None:
            changes += [(attempt.started_at_ms, 1), (attempt.ended_at_ms, -1)]
    running = most = 0
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most


def test_three_lanes_of_one_slot(installed: Installation) -> None:
    installed.start_worker(KERNEL_ENV_LANES="3")
    rows = [installed.submit(source("correct eval_s=2", n)) for n in range(6)]
    installed.wait_ended([row.id for row in rows])
    done = attempts(installed)
    assert [attempt.outcome for attempt in done] == [AttemptEnd.VERDICT] * 6
    assert most_at_once(done, "mock-testhost-0") == 3
    assert slot(installed).lanes == 3


def test_two_slots_with_two_lanes_share_without_a_reaper(installed: Installation) -> None:
    for number in range(2):
        installed.start_worker(number, ready=False, KERNEL_ENV_LANES="2")
    for process in installed.processes:
        process.wait_logged("slot_ready")
    rows = [installed.submit(source("correct eval_s=0.3", n), run_id=f"run-{n % 3}") for n in range(40)]
    ended = installed.wait_ended([row.id for row in rows])
    done = attempts(installed)
    assert len(done) == 40
    assert {row.verdict for row in ended} == {"correct"}
    for number in range(2):
        assert most_at_once(done, f"mock-testhost-{number}") == 2


def test_stopping_hands_every_lane_back(installed: Installation) -> None:
    worker = installed.start_worker(KERNEL_ENV_LANES="2", KERNEL_ENV_DRAIN_S="1")
    rows = [installed.submit(source("correct eval_s=500", n)) for n in range(2)]
    wait_for(lambda: all(installed.row(row.id).status == "running" for row in rows), 30, "both lanes", worker.tail)
    worker.terminate()
    for row in rows:
        back = installed.row(row.id)
        assert (back.status, back.losses) == (SubmissionStatus.QUEUED, 0), worker.tail()
    assert worker.log.read_text().count('"handed_back"') == 2


def test_a_sick_device_rests_until_a_clean_probe(installed: Installation) -> None:
    sick = Path(installed.settings.evaluator_config().state_dir, "mock-0.sick")
    worker = installed.start_worker(KERNEL_ENV_LANES="2")
    worker.wait_logged('"canary"')  # which would find it sick before any grade does
    beside = installed.submit(source("correct eval_s=3"))
    wait_for(lambda: installed.row(beside.id).status == "running", 30, "a first grade", worker.tail)
    sick.parent.mkdir(parents=True)
    sick.touch()
    killer = installed.submit(source("fault code=device_fault"))
    wait_for(lambda: slot(installed).probe == {"ok": False, "code": "device_fault",
                                               "detail": "the mock device was made sick"},
             30, "a probe that fails", worker.tail)  # fmt: skip
    found = slot(installed)
    assert (found.state, found.faults) == (SlotState.QUARANTINED, 1)
    assert found.fault is not None
    assert found.fault.startswith("device_fault: ")
    installed.wait_ended([beside.id])
    assert installed.row(killer.id).status is SubmissionStatus.QUEUED, "nothing is taken in quarantine"
    sick.unlink()
    wait_for(lambda: slot(installed).state is SlotState.READY, 30, "the slot's return", worker.tail)
    assert slot(installed).probe == {"ok": True, "mock": True}
    installed.wait_ended([killer.id])


def test_the_next_worker_takes_over_what_a_killed_one_held(installed: Installation) -> None:
    killed = installed.start_worker(KERNEL_ENV_LEASE_S="60", KERNEL_ENV_LANES="2")
    rows = [installed.submit(source("correct eval_s=2", n)) for n in range(2)]
    wait_for(lambda: all(installed.row(row.id).status == "running" for row in rows), 30, "both lanes", killed.tail)
    killed.kill()
    installed.start_worker(KERNEL_ENV_LEASE_S="60", KERNEL_ENV_LANES="2")
    for row in installed.wait_ended([row.id for row in rows], 30):
        assert (row.status, row.attempt, row.losses) == (SubmissionStatus.COMPLETED, 2, 1)
