"""Bells: one per waiting row, on a healthy slot that may take it, moved where they would not be heard."""

from collections import Counter

from sqlalchemy import update

from grading import jobs
from grading.db import Database
from grading.models import Submission
from grading.states import SlotState
from tests.grading.support import must_claim, open_slot, row, submit


def age_bells(db: Database, ms: int = 60_000) -> None:
    with db.write() as session:
        session.execute(
            update(Submission).values(
                rung_at_ms=Submission.rung_at_ms - ms, created_at_ms=Submission.created_at_ms - ms
            )
        )


def test_bells_spread_over_slots_by_load(db: Database) -> None:
    slots = [open_slot(db, f"gpu-{n}") for n in range(3)]
    submit(db)
    must_claim(db, slots[0])
    bells = jobs.assign_bells(db, [submit(db).id for _ in range(5)])
    assert Counter(bell.queue for bell in bells) == {slots[1].queue: 2, slots[2].queue: 2, slots[0].queue: 1}


def test_a_row_has_one_bell(db: Database) -> None:
    open_slot(db)
    submitted = submit(db)
    assert len(jobs.assign_bells(db, [submitted.id])) == 1
    assert jobs.assign_bells(db, [submitted.id]) == []


def test_no_bell_without_a_healthy_slot(db: Database) -> None:
    slot = open_slot(db)
    jobs.set_slot_state(db, slot.id, slot.incarnation, SlotState.QUARANTINED)
    assert jobs.assign_bells(db, [submit(db).id]) == []


def test_a_pinned_row_rings_its_kind(db: Database) -> None:
    open_slot(db, "one", "h200")
    a100 = open_slot(db, "two", "a100")
    (bell,) = jobs.assign_bells(db, [submit(db, gpu_kind="a100").id])
    assert bell.queue == a100.queue


def test_an_idle_slot_takes_a_bell_over(db: Database) -> None:
    busy = open_slot(db, "busy")
    waiting = [submit(db) for _ in range(3)]
    jobs.assign_bells(db, [item.id for item in waiting])
    must_claim(db, busy)
    idle = open_slot(db, "idle")
    bell = jobs.bell_for_idle_slot(db, idle.id, idle.incarnation)
    assert bell is not None
    assert row(db, bell.submission_id).queue == idle.queue
    assert jobs.bell_for_idle_slot(db, idle.id, idle.incarnation) is None, "the bell is on its way"


def test_an_idle_slot_whose_bell_got_lost_is_rung_again(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    jobs.assign_bells(db, [submitted.id])
    assert jobs.bell_for_idle_slot(db, slot.id, slot.incarnation) is None
    age_bells(db)
    bell = jobs.bell_for_idle_slot(db, slot.id, slot.incarnation)
    assert bell is not None
    assert bell.submission_id == submitted.id


def test_a_busy_slot_is_not_rung(db: Database) -> None:
    slot = open_slot(db)
    submit(db)
    must_claim(db, slot)
    submit(db)
    assert jobs.bell_for_idle_slot(db, slot.id, slot.incarnation) is None


def test_a_claim_keeps_the_lengths_of_the_queues_true(db: Database) -> None:
    one, two = open_slot(db, "one"), open_slot(db, "two")
    rows = [submit(db) for _ in range(4)]
    jobs.assign_bells(db, [item.id for item in rows])
    before = Counter(row(db, item.id).queue for item in rows)
    found = must_claim(db, one)
    jobs.bells_after_claim(db, found.queue, one.queue)
    after = Counter(row(db, item.id).queue for item in rows if item.id != found.submission_id)
    assert before == {one.queue: 2, two.queue: 2}
    assert after == {one.queue: 1, two.queue: 2}


def test_a_claim_rings_idle_slots_for_what_it_leaves(db: Database) -> None:
    one = open_slot(db, "one")
    rows = [submit(db) for _ in range(3)]
    jobs.assign_bells(db, [item.id for item in rows])
    two = open_slot(db, "two")
    found = must_claim(db, one)
    bells = jobs.bells_after_claim(db, found.queue, one.queue)
    assert [bell.queue for bell in bells] == [two.queue]


def test_bells_of_a_slot_that_left_are_moved(db: Database) -> None:
    gone = open_slot(db, "gone")
    rows = [submit(db).id for _ in range(3)]
    jobs.assign_bells(db, rows)
    assert jobs.missing_bells(db) == []
    stays = open_slot(db, "stays")
    jobs.release_slot(db, gone.id, gone.incarnation)
    assert {bell.queue for bell in jobs.missing_bells(db)} == {stays.queue}


def test_overlooked_rows_are_found(db: Database) -> None:
    slot = open_slot(db)
    submitted = submit(db)
    assert jobs.missing_bells(db) == [], "its submitter may be about to ring"
    age_bells(db)
    assert jobs.missing_bells(db) == [jobs.Bell(slot.queue, submitted.id)]


def test_bells_that_could_not_be_rung_are_taken_back(db: Database) -> None:
    open_slot(db)
    bells = jobs.assign_bells(db, [submit(db).id])
    jobs.unring(db, bells)
    assert row(db, bells[0].submission_id).queue is None
