"""Claims: each row goes to one slot, under a fence that alone may write about it."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from evaluator.errors import GraderFault
from evaluator.report import Report
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.errors import FenceLost, SlotTaken
from grading.jobs import Reaper, SlotIdentity, danger
from grading.models import Submission
from grading.states import AttemptEnd, Priority, SlotState, SubmissionStatus
from tests.grading.support import LAPSED, LEASES, PROJECT, attempts, claim, must_claim, open_slot, report, row, submit


def test_a_claim_has_what_the_evaluator_needs(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db, code="print()", language="cuda")
    found = must_claim(db, slot)
    assert found.source.submission_id == submitted.id
    assert (found.source.code, found.source.language) == ("print()", "cuda")
    assert found.source.seed_key == submitted.seed_key
    assert (found.fence, found.attempt) == (1, 1)
    assert claim(db, slot) is None


@pytest.mark.parametrize("state", [SlotState.STARTING, SlotState.DRAINING, SlotState.QUARANTINED, SlotState.GONE])
def test_only_a_ready_slot_takes_work(db: Database, state: SlotState) -> None:
    slot = open_slot(db)
    submit(db)
    jobs.set_slot_state(db, slot.id, slot.incarnation, state)
    assert claim(db, slot) is None


def test_every_row_is_claimed_once_by_many_slots(db: Database) -> None:
    wanted = {submit(db, run_id=f"run-{n % 3}").id for n in range(60)}
    slots = [open_slot(db, f"gpu-{n}") for n in range(8)]

    def work(slot: object) -> list[str]:
        mine = []
        while (found := claim(db, slot)) is not None:  # type: ignore[arg-type]
            mine.append(found.submission_id)
            jobs.finish(db, found.submission_id, found.fence, report())
        return mine

    with ThreadPoolExecutor(len(slots)) as pool:
        taken = [submission_id for part in pool.map(work, slots) for submission_id in part]
    assert len(taken) == len(wanted)
    assert set(taken) == wanted


@pytest.mark.parametrize("released", [True, False])
def test_a_lower_priority_is_taken_only_where_what_is_above_stays_locked(
    db: Database, monkeypatch: pytest.MonkeyPatch, released: bool
) -> None:
    if db.engine.dialect.name == "sqlite":
        pytest.skip("there is one writer at a time")
    slot = open_slot(db)
    high, low = submit(db, priority=Priority.HIGH).id, submit(db, priority=Priority.LOW).id
    with db.engine.connect() as other:
        other.execute(select(Submission.id).where(Submission.id == high).with_for_update())
        # in place of the pauses between its tries
        monkeypatch.setattr(time, "sleep", lambda _: other.rollback() if released else None)
        found = must_claim(db, slot)
    assert found.submission_id == (high if released else low)


def test_only_the_present_fence_may_write(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    first = must_claim(db, slot, LAPSED)
    assert Reaper(db, LAPSED).run_once().returned == [submitted.id]
    second = must_claim(db, slot)
    assert (second.attempt, second.fence) == (2, first.fence + 2)
    for late in (
        lambda: jobs.renew(db, submitted.id, first.fence, LEASES),
        lambda: jobs.note_phase(db, submitted.id, first.fence, "timing"),
        lambda: jobs.finish(db, submitted.id, first.fence, report()),
        lambda: jobs.finish_fault(db, submitted.id, first.fence, GraderFault("x", "y"), LEASES),
        lambda: jobs.hand_back(db, submitted.id, first.fence),
    ):
        with pytest.raises(FenceLost):
            late()
    assert row(db, submitted.id).status is SubmissionStatus.RUNNING
    jobs.finish(db, submitted.id, second.fence, report())
    assert [attempt.outcome for attempt in attempts(db, submitted.id)] == [AttemptEnd.LOST, AttemptEnd.VERDICT]


def test_a_lapsed_lease_may_still_finish_while_nobody_took_the_row(db: Database) -> None:
    slot = open_slot(db)
    submit(db)
    found = must_claim(db, slot, LAPSED)
    ended = jobs.finish(db, found.submission_id, found.fence, report())
    assert ended.submission.status is SubmissionStatus.COMPLETED


def test_finishing_again_changes_nothing(db: Database) -> None:
    slot = open_slot(db)
    submit(db)
    found = must_claim(db, slot)
    first = jobs.finish(db, found.submission_id, found.fence, report(speedup=2.0))
    second = jobs.finish(db, found.submission_id, found.fence, report(speedup=8.0))
    assert second.submission.reward == first.submission.reward
    assert len(attempts(db, found.submission_id)) == 1


def test_a_handed_back_row_costs_nothing(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    for _ in range(5):
        found = must_claim(db, slot)
        jobs.hand_back(db, submitted.id, found.fence)
    back = row(db, submitted.id)
    assert (back.status, back.losses, back.queue) == (SubmissionStatus.QUEUED, 0, None)


def test_handing_back_what_a_slot_held(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    found = must_claim(db, slot)
    assert jobs.hand_back_slot(db, slot.id, "an earlier start") == []
    assert [back.id for back in jobs.hand_back_slot(db, slot.id, slot.incarnation)] == [submitted.id]
    with pytest.raises(FenceLost):
        jobs.finish(db, submitted.id, found.fence, report())


def test_three_losses_end_without_a_verdict(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    for _ in range(3):
        must_claim(db, slot, LAPSED)
        Reaper(db, LAPSED).run_once()
    failed = row(db, submitted.id)
    assert (failed.status, failed.error_code, failed.reward) == (SubmissionStatus.FAILED, "worker_lost", None)
    assert claim(db, slot) is None


def test_a_device_that_failed_is_not_asked_again_while_another_fits(db: Database) -> None:
    sick, well = open_slot(db, "sick"), open_slot(db, "well")
    submitted = submit(db)
    found = must_claim(db, sick)
    jobs.finish_fault(db, submitted.id, found.fence, GraderFault("device_fault", "Xid 79"), LEASES)
    assert claim(db, sick) is None
    assert must_claim(db, well).attempt == 2


def test_an_exclusion_lapses_where_nothing_else_fits(db: Database) -> None:
    only = open_slot(db)
    found = (submit(db), must_claim(db, only))[1]
    jobs.finish_fault(db, found.submission_id, found.fence, GraderFault("device_fault", "Xid 79"), LEASES)
    assert must_claim(db, only).attempt == 2


def test_a_source_that_takes_down_two_devices_is_to_blame(db: Database) -> None:
    slots = [open_slot(db, f"gpu-{n}") for n in range(3)]
    submitted = submit(db, code="a killer")
    for slot in slots[:2]:
        found = must_claim(db, slot)
        jobs.finish_fault(db, submitted.id, found.fence, GraderFault("device_fault", "Xid 79"), LEASES)
    blamed = row(db, submitted.id)
    assert (blamed.status, blamed.verdict, blamed.reward) == (SubmissionStatus.COMPLETED, Verdict.RUNTIME_ERROR, 0.0)
    assert claim(db, slots[2]) is None
    assert danger.is_dangerous(db, "a killer")
    assert not danger.is_dangerous(db, "another source")


def test_one_device_that_fails_twice_blames_nobody(db: Database) -> None:
    only = open_slot(db)
    submitted = submit(db)
    for _ in range(2):
        found = must_claim(db, only)
        jobs.finish_fault(db, submitted.id, found.fence, GraderFault("device_fault", "Xid 79"), LEASES)
    assert row(db, submitted.id).status is SubmissionStatus.FAILED
    assert not danger.is_dangerous(db, "code")


def test_a_pinned_row_waits_for_its_kind(db: Database) -> None:
    h200, a100 = open_slot(db, "one", "h200"), open_slot(db, "two", "a100")
    submitted = submit(db, gpu_kind="a100")
    assert claim(db, h200) is None
    assert must_claim(db, a100).submission_id == submitted.id


def test_a_passed_deadline_is_not_claimed_but_expired(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db, deadline_s=0)
    assert claim(db, slot) is None
    assert [ended.id for ended in Reaper(db, LEASES).run_once().ended] == [submitted.id]
    assert row(db, submitted.id).status is SubmissionStatus.EXPIRED


def test_after_an_outage_no_lease_is_judged_for_one_lease(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    must_claim(db, slot, LAPSED)
    assert Reaper(db, LEASES).run_once().returned == []
    assert row(db, submitted.id).status is SubmissionStatus.RUNNING


def test_cancelling(db: Database) -> None:
    slot = open_slot(db)
    running = submit(db)
    found = must_claim(db, slot)
    waiting = submit(db)
    for submitted in (running, waiting):
        assert jobs.cancel_submission(db, PROJECT, submitted.id).status is SubmissionStatus.CANCELLED
    with pytest.raises(FenceLost):
        jobs.finish(db, running.id, found.fence, report())
    assert claim(db, slot) is None


def test_cancelling_what_has_ended_changes_nothing(db: Database) -> None:
    slot = open_slot(db)
    submit(db)
    found = must_claim(db, slot)
    jobs.finish(db, found.submission_id, found.fence, report())
    assert jobs.cancel_submission(db, PROJECT, found.submission_id).status is SubmissionStatus.COMPLETED


def test_a_slot_has_one_worker(db: Database) -> None:
    slot = open_slot(db)
    second = SlotIdentity(slot.id, "second", slot.kind, "mock", "elsewhere", 0, slot.queue)
    with pytest.raises(SlotTaken):
        jobs.register_slot(db, second, LEASES)
    jobs.release_slot(db, slot.id, slot.incarnation)
    jobs.register_slot(db, second, LEASES)
    with pytest.raises(FenceLost):
        claim(db, slot)


def test_a_quarantine_outlives_its_worker(db: Database) -> None:
    slot = open_slot(db)
    jobs.set_slot_state(db, slot.id, slot.incarnation, SlotState.QUARANTINED, "Xid 79")
    jobs.release_slot(db, slot.id, slot.incarnation)
    again = SlotIdentity(slot.id, "second", slot.kind, "mock", "host", 0, slot.queue)
    assert jobs.register_slot(db, again, LAPSED).state is SlotState.QUARANTINED


def test_a_probe_decides_over_a_slot_that_is_open(db: Database) -> None:
    slot = open_slot(db)

    def probe(healthy: bool) -> SlotState:
        found = {"ok": healthy, "detail": "wrong sums"}
        return jobs.note_probe(db, slot.id, slot.incarnation, found, healthy=healthy).state

    assert probe(False) is SlotState.QUARANTINED
    submit(db)
    assert claim(db, slot) is None
    assert probe(True) is SlotState.READY
    jobs.set_slot_state(db, slot.id, slot.incarnation, SlotState.DRAINING)
    assert [probe(healthy) for healthy in (False, True)] == [SlotState.DRAINING] * 2
    jobs.release_slot(db, slot.id, slot.incarnation)
    assert probe(False) is SlotState.GONE


def test_a_successor_gives_up_what_was_left_behind(db: Database) -> None:
    slot = open_slot(db)
    left, kept = submit(db), submit(db)
    must_claim(db, slot)
    jobs.release_slot(db, slot.id, slot.incarnation)
    successor = open_slot(db, incarnation="second", lanes=2)
    must_claim(db, successor)
    assert jobs.take_over(db, slot.id, "first", LEASES).returned == [], "the slot has passed on"
    assert jobs.take_over(db, slot.id, "second", LEASES).returned == [left.id]
    assert (row(db, left.id).losses, row(db, kept.id).status) == (1, SubmissionStatus.RUNNING)


def test_what_a_candidate_printed_can_be_stored(db: Database) -> None:
    slot = open_slot(db)
    submit(db)
    found = must_claim(db, slot)
    nasty = Report(Verdict.RUNTIME_ERROR, "nul \0, a lone surrogate \ud800", kernels=[{"name\0": "\udfff"}])
    jobs.finish(db, found.submission_id, found.fence, nasty)
    result = row(db, found.submission_id).result
    assert result is not None
    assert "\0" not in result["feedback"]
