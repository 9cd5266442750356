"""Lanes: a slot grades beside a grade of its own only what no idle slot may take, and never beside a suspect."""

from evaluator.errors import GraderFault
from grading import jobs
from grading.db import Database
from grading.jobs import Claim
from grading.models import Slot
from grading.states import SlotState
from tests.grading.support import LEASES, claim, must_claim, open_slot, report, row, submit


def finish(db: Database, found: Claim) -> None:
    jobs.finish(db, found.submission_id, found.fence, report())


def fail(db: Database, found: Claim) -> None:
    fault = GraderFault("device_fault", "Xid 79")
    jobs.finish_fault(db, found.submission_id, found.fence, fault, LEASES)


def bell_at(db: Database, slot: Slot) -> jobs.Bell | None:
    return jobs.bell_for_idle_slot(db, slot.id, slot.incarnation)


def test_a_slot_fills_its_lanes_and_no_more(db: Database) -> None:
    slot = open_slot(db, lanes=3)
    for _ in range(4):
        submit(db)
    held = [must_claim(db, slot) for _ in range(3)]
    assert claim(db, slot) is None
    finish(db, held[1])
    assert claim(db, slot) is not None
    assert claim(db, slot) is None


def test_a_further_lane_leaves_a_row_to_an_idle_slot(db: Database) -> None:
    busy, idle = open_slot(db, "busy", lanes=3), open_slot(db, "idle", lanes=3)
    for _ in range(4):
        submit(db)
    must_claim(db, busy)
    assert claim(db, busy) is None
    must_claim(db, idle)
    must_claim(db, busy)
    must_claim(db, idle)


def test_only_an_idle_slot_that_may_take_the_row_counts(db: Database) -> None:
    busy = open_slot(db, "busy", "h200", lanes=2)
    open_slot(db, "other kind", "a100")
    sick = open_slot(db, "sick", "h200")
    jobs.set_slot_state(db, sick.id, sick.incarnation, SlotState.QUARANTINED)
    submit(db)
    must_claim(db, busy)
    anywhere = submit(db)
    assert claim(db, busy) is None, "the idle a100 may take it"
    pinned = submit(db, gpu_kind="h200")
    assert must_claim(db, busy).submission_id == pinned.id
    assert row(db, anywhere.id).slot_id is None


def test_a_bell_at_a_further_lane_is_passed_on_to_the_idle_slot(db: Database) -> None:
    busy, idle = open_slot(db, "busy", lanes=2), open_slot(db, "idle", lanes=2)
    submit(db)
    must_claim(db, busy)
    submitted = submit(db)
    jobs.set_slot_state(db, idle.id, idle.incarnation, SlotState.STARTING)
    assert [bell.queue for bell in jobs.assign_bells(db, [submitted.id])] == [busy.queue]
    jobs.set_slot_state(db, idle.id, idle.incarnation, SlotState.READY)
    assert claim(db, busy) is None
    assert jobs.bell_to_pass_on(db, busy.id) == jobs.Bell(idle.queue, submitted.id)
    assert jobs.bell_to_pass_on(db, busy.id) is None
    assert must_claim(db, idle).queue == idle.queue


def test_a_bell_that_came_too_early_is_rung_again_at_the_same_slot(db: Database) -> None:
    busy, other = open_slot(db, "busy", lanes=2), open_slot(db, "other")
    for _ in range(2):
        submit(db)
    must_claim(db, busy)
    late = submit(db)
    assert claim(db, busy) is None
    must_claim(db, other)
    jobs.assign_bells(db, [late.id])
    queue = row(db, late.id).queue
    slot = busy if queue == busy.queue else other
    if slot is busy:
        assert jobs.bell_to_pass_on(db, busy.id) == jobs.Bell(busy.queue, late.id)
    else:
        assert jobs.bell_to_pass_on(db, other.id) is None, "it is full, and nobody is idle"
        assert row(db, late.id).rung_at_ms == 0


def test_a_bell_at_a_draining_slot_goes_elsewhere(db: Database) -> None:
    busy = open_slot(db, "busy")
    submit(db)
    must_claim(db, busy)
    closing = open_slot(db, "closing")
    submitted = submit(db)
    assert [bell.queue for bell in jobs.assign_bells(db, [submitted.id])] == [closing.queue]
    jobs.hold(db, closing.id)
    assert claim(db, closing) is None
    assert jobs.bell_to_pass_on(db, closing.id) == jobs.Bell(busy.queue, submitted.id)


def test_a_claim_wakes_further_lanes_only_where_nobody_is_idle(db: Database) -> None:
    one, two = open_slot(db, "one", lanes=2), open_slot(db, "two", lanes=2)
    for _ in range(4):
        submit(db)
    first = must_claim(db, one)
    assert [bell.queue for bell in jobs.bells_after_claim(db, first.queue, one.queue)] == [two.queue]
    second = must_claim(db, two)
    bells = jobs.bells_after_claim(db, second.queue, two.queue)
    assert {bell.queue for bell in bells} == {one.queue, two.queue}


def test_a_row_claimed_before_it_had_a_bell_costs_nobody_his(db: Database) -> None:
    slot = open_slot(db)
    rung = submit(db, run_id="b")
    jobs.assign_bells(db, [rung.id])
    early = submit(db, priority=0)
    found = must_claim(db, slot)
    assert (found.submission_id, found.queue) == (early.id, None)
    assert jobs.Bell(slot.queue, rung.id) in jobs.bells_after_claim(db, found.queue, slot.queue)


def test_a_slot_with_an_idle_lane_is_woken(db: Database) -> None:
    slot = open_slot(db, lanes=2)
    submit(db)
    must_claim(db, slot)
    submitted = submit(db)
    assert bell_at(db, slot) == jobs.Bell(slot.queue, submitted.id)
    must_claim(db, slot)
    submit(db)
    assert bell_at(db, slot) is None, "it is full"


def test_a_suspect_is_graded_alone(db: Database) -> None:
    first, second = open_slot(db, "first", lanes=3), open_slot(db, "second", lanes=3)
    suspect = submit(db)
    fail(db, must_claim(db, first))
    innocent = [submit(db) for _ in range(3)]
    must_claim(db, first)
    assert must_claim(db, second).submission_id == suspect.id
    assert claim(db, second) is None, "nothing beside a suspect"
    assert must_claim(db, first).submission_id == innocent[1].id


def test_a_suspect_waits_until_a_slot_has_run_empty(db: Database) -> None:
    first, second = open_slot(db, "first", lanes=2), open_slot(db, "second", lanes=2)
    suspect = submit(db)
    fail(db, must_claim(db, first))
    jobs.set_slot_state(db, first.id, first.incarnation, SlotState.QUARANTINED)
    held = claim_beside_suspect(db, second)
    assert claim(db, second) is None, "the suspect is next, and not alone here"
    assert bell_at(db, second) is None
    finish(db, held)
    assert bell_at(db, second) is not None
    assert must_claim(db, second).submission_id == suspect.id


def claim_beside_suspect(db: Database, slot: Slot) -> Claim:
    """A grade that was there first."""
    submit(db, priority=0, run_id="another")
    held = must_claim(db, slot)
    submit(db)
    return held


def test_a_suspect_behind_others_does_not_hold_them_up(db: Database) -> None:
    first, second = open_slot(db, "first"), open_slot(db, "second", lanes=3)
    submit(db, run_id="old", priority=2)
    fail(db, must_claim(db, first))
    ids = [submit(db).id for _ in range(2)]
    jobs.set_slot_state(db, first.id, first.incarnation, SlotState.QUARANTINED)
    assert [must_claim(db, second).submission_id for _ in range(2)] == ids
    assert claim(db, second) is None


def test_runs_share_the_lanes_of_one_slot(db: Database) -> None:
    slot = open_slot(db, lanes=3)
    for _ in range(5):
        submit(db, run_id="many")
    few = [submit(db, run_id="few").id for _ in range(2)]
    taken = [must_claim(db, slot) for _ in range(3)]
    assert few[0] in {found.submission_id for found in taken}
    for found in taken:
        finish(db, found)
    assert few[1] in {must_claim(db, slot).submission_id for _ in range(3)}
