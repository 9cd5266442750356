"""Builders in the state machine: who may take what, what a lost one costs, and how products come and go."""

import hashlib

import pytest

from evaluator.errors import GraderFault
from evaluator.prebuilt import Prebuilt, Product
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.errors import FenceLost
from grading.jobs import Claim, Reaper
from grading.jobs.order import heads
from grading.states import AttemptEnd, SlotState, SubmissionStatus
from tests.grading.support import (
    LAPSED,
    LEASES,
    PROJECT,
    SECRET,
    attempts,
    claim,
    episode,
    must_claim,
    new_episode,
    open_builder,
    open_slot,
    report,
    row,
    submit,
)

CONTENT = b"a product"
PRODUCT = Product("0123.tiny.so", hashlib.sha256(CONTENT).hexdigest())
MADE = [Prebuilt("9.0", "print", (PRODUCT,)), Prebuilt("8.9", "other", ())]


def ready(db: Database, held: Claim) -> None:
    jobs.make_ready(db, held.submission_id, held.fence, MADE, {"build": 1.5})


def ends(db: Database, submission_id: str) -> list[tuple[int, str, AttemptEnd | None]]:
    return [(each.number, each.kind, each.outcome) for each in attempts(db, submission_id)]


def test_built_then_graded_is_one_attempt(db: Database) -> None:
    builder, gpu = open_builder(db), open_slot(db)
    owner = new_episode(db)
    waiting = submit(db, language="cuda", episode_id=owner.id)
    assert claim(db, gpu) is None, "it waits for the builder"
    held = must_claim(db, builder)
    assert (held.attempt, held.row.status) == (1, SubmissionStatus.COMPILING)
    assert claim(db, gpu) is None
    ready(db, held)
    assert row(db, waiting.id).status is SubmissionStatus.READY
    assert claim(db, builder) is None
    graded = must_claim(db, gpu)
    assert (graded.attempt, graded.source.prebuilt) == (1, MADE[0])
    assert graded.row.started_at_ms == held.row.started_at_ms
    jobs.finish(db, waiting.id, graded.fence, report())
    assert ends(db, waiting.id) == [(1, "build", AttemptEnd.BUILT), (1, "grade", AttemptEnd.VERDICT)]
    assert row(db, waiting.id).phases == {"build": 1.5, "format": 0.1}
    assert episode(db, owner.id).turns_used == 1


def test_a_verdict_of_the_builder_uses_up_the_turn(db: Database) -> None:
    builder, gpu = open_builder(db), open_slot(db)
    owner = new_episode(db)
    waiting = submit(db, language="cuda", episode_id=owner.id)
    held = must_claim(db, builder)
    jobs.finish(db, waiting.id, held.fence, report(Verdict.COMPILE_ERROR))
    ended = row(db, waiting.id)
    assert (ended.status, ended.verdict, ended.reward) == ("completed", "compile_error", 0.0)
    assert (ended.claimed_at_ms, ended.build_claimed_at_ms) == (None, held.row.build_claimed_at_ms)
    assert episode(db, owner.id).turns_used == 1
    assert claim(db, gpu) is None


def test_without_a_builder_a_grader_takes_all(db: Database) -> None:
    gpu, builder = open_slot(db), open_builder(db)
    waiting = submit(db, language="cuda")
    assert claim(db, gpu) is None
    jobs.set_slot_state(db, builder.id, builder.incarnation, SlotState.DRAINING)
    held = must_claim(db, gpu)
    assert (held.row.status, held.source.prebuilt) == (SubmissionStatus.RUNNING, None)
    jobs.hand_back(db, waiting.id, held.fence)
    assert row(db, waiting.id).status is SubmissionStatus.QUEUED, "nothing was built yet"


def test_a_builder_takes_nothing_else(db: Database) -> None:
    builder, gpu = open_builder(db), open_slot(db, kind="builder")
    submit(db)
    assert claim(db, builder) is None
    submit(db, language="cuda", gpu_kind="h100")
    assert must_claim(db, builder).architectures == ("9.0",)
    assert must_claim(db, gpu).source.language == "triton"


@pytest.mark.parametrize("who", ["builder", "gpu"])
def test_what_a_lost_process_costs(who: str, db: Database) -> None:
    builder, gpu = open_builder(db), open_slot(db)
    waiting = submit(db, language="cuda")
    held = must_claim(db, builder, LAPSED if who == "builder" else LEASES)
    if who == "gpu":
        ready(db, held)
        held = must_claim(db, gpu, LAPSED)
    reaper = Reaper(db, LAPSED)
    assert reaper.run_once().returned == [waiting.id]
    back = row(db, waiting.id)
    assert back.status is (SubmissionStatus.QUEUED if who == "builder" else SubmissionStatus.READY)
    assert (back.losses, back.fence) == (1, held.fence + 1)
    with pytest.raises(FenceLost):
        ready(db, held)
    with pytest.raises(FenceLost):
        jobs.renew(db, waiting.id, held.fence, LEASES)
    again = must_claim(db, builder if who == "builder" else gpu)
    assert again.attempt == 2


def test_a_frozen_builder_cannot_hand_on_what_another_builds(db: Database) -> None:
    frozen, other = open_builder(db), open_builder(db, "builder-1")
    waiting = submit(db, language="cuda")
    old = must_claim(db, frozen, LAPSED)
    Reaper(db, LAPSED).run_once()
    new = must_claim(db, other)
    with pytest.raises(FenceLost):
        ready(db, old)
    ready(db, new)
    with pytest.raises(FenceLost):
        jobs.finish(db, waiting.id, old.fence, report(Verdict.COMPILE_ERROR))
    assert row(db, waiting.id).status is SubmissionStatus.READY


def test_handing_on_may_be_repeated(db: Database) -> None:
    builder, gpu = open_builder(db), open_slot(db)
    waiting = submit(db, language="cuda")
    held = must_claim(db, builder)
    ready(db, held)
    ready(db, held)
    assert ends(db, waiting.id) == [(1, "build", AttemptEnd.BUILT)]
    must_claim(db, gpu)
    with pytest.raises(FenceLost):
        ready(db, held)


def test_a_builders_faults_are_counted_as_any(db: Database) -> None:
    builder = open_builder(db)
    waiting = submit(db, language="cuda")
    for _ in range(3):
        held = must_claim(db, builder)
        jobs.finish_fault(db, waiting.id, held.fence, GraderFault("no_space", "the disk is full"), LEASES)
    ended = row(db, waiting.id)
    assert (ended.status, ended.attempt, ended.losses) == (SubmissionStatus.FAILED, 3, 3)


@pytest.mark.parametrize("how", ["cancelled", "expired", "requeued"])
def test_stopping_a_build(how: str, db: Database) -> None:
    builder = open_builder(db)
    waiting = submit(db, language="cuda", **({"deadline_s": 0.0} if how == "expired" else {}))
    if how == "expired":
        assert claim(db, builder) is None
        Reaper(db, LEASES).run_once()
        assert row(db, waiting.id).status is SubmissionStatus.EXPIRED
        return
    held = must_claim(db, builder)
    if how == "cancelled":
        jobs.cancel_submission(db, PROJECT, waiting.id)
    else:
        jobs.requeue(db, waiting.id)
    after = row(db, waiting.id).status
    assert after is (SubmissionStatus.CANCELLED if how == "cancelled" else SubmissionStatus.QUEUED)
    with pytest.raises(FenceLost):
        ready(db, held)


def test_built_for_every_device_that_may_take_it(db: Database) -> None:
    builder = open_builder(db)
    for name, kind, capability in (("a", "h200", "9.0"), ("b", "l4", "8.9"), ("c", "b200", "10.0")):
        slot = open_slot(db, name, kind)
        environment = {"compute_capability": capability}
        jobs.set_slot_state(db, name, slot.incarnation, SlotState.READY, environment=environment)
    jobs.set_slot_state(db, "c", "first", SlotState.DRAINING)
    submit(db, language="cuda")
    assert must_claim(db, builder).architectures == ("8.9", "9.0")
    jobs.set_slot_state(db, builder.id, builder.incarnation, SlotState.READY)
    other = open_builder(db, "builder-1")
    submit(db, language="cuda", gpu_kind="b200")
    assert must_claim(db, other).architectures == ("10.0",), "the only one that ever fitted"


def test_a_device_gets_what_was_built_for_it(db: Database) -> None:
    builder = open_builder(db)
    slot = open_slot(db, "l4", "l4")
    jobs.set_slot_state(db, "l4", slot.incarnation, SlotState.READY, environment={"compute_capability": "8.9"})
    submit(db, language="cuda")
    ready(db, must_claim(db, builder))
    assert must_claim(db, slot).source.prebuilt == MADE[1]


def test_bells_go_to_builders_then_to_graders(db: Database) -> None:
    gpu = open_slot(db)
    cuda, triton = submit(db, language="cuda"), submit(db)
    assert {bell.queue for bell in jobs.assign_bells(db, [cuda.id, triton.id])} == {gpu.queue}, "nobody builds"
    builder = open_builder(db)
    late = submit(db, language="cuda")
    assert [bell.queue for bell in jobs.assign_bells(db, [late.id])] == [builder.queue]
    bell = jobs.bell_for_idle_slot(db, builder.id, builder.incarnation)
    assert bell is None, "one is on its way to it"
    held = must_claim(db, builder)
    assert held.submission_id == cuda.id, "the oldest, whoever was rung for it"
    ready(db, held)
    assert [bell.queue for bell in jobs.assign_bells(db, [cuda.id])] == [gpu.queue]
    jobs.set_slot_state(db, builder.id, builder.incarnation, SlotState.GONE)
    assert [bell.queue for bell in jobs.missing_bells(db)] == [gpu.queue], "what it was rung for"


def test_a_held_builder_passes_no_bell_back_to_its_own_queue(db: Database) -> None:
    held_one, busy = open_builder(db), open_builder(db, "builder-1")
    submit(db, language="cuda")
    must_claim(db, busy)
    waiting = submit(db, language="cuda")
    jobs.assign_bells(db, [waiting.id])
    jobs.hold(db, held_one.id)
    assert jobs.bell_to_pass_on(db, held_one.id) is None
    assert row(db, waiting.id).rung_at_ms == 0, "it counts as lost, and is rung again when there is room"


def test_builds_and_grades_are_shared_out_apart(db: Database) -> None:
    """A run whose builds never end well must not keep another's from the builder, nor builds a run from the GPU."""
    builder, gpu = open_builder(db), open_slot(db)
    for number in range(4):
        submit(db, f"bad {number}", language="cuda", run_id="a")
    good = submit(db, language="cuda", run_id="b")
    first = must_claim(db, builder)
    jobs.finish(db, first.submission_id, first.fence, report(Verdict.COMPILE_ERROR))
    second = must_claim(db, builder)
    assert second.submission_id == good.id
    ready(db, second)
    third = must_claim(db, builder)
    ready(db, third)
    assert must_claim(db, builder).row.run_id == "a"
    assert must_claim(db, gpu).submission_id == third.submission_id, "by age: neither run had the GPU yet"


def test_products_come_and_go(db: Database) -> None:
    jobs.store_product(db, PRODUCT.sha256, CONTENT)
    jobs.store_product(db, PRODUCT.sha256, CONTENT)
    assert jobs.load_product(db, PRODUCT.sha256) == CONTENT
    assert jobs.load_product(db, "0" * 64) is None
    assert jobs.prune_products(db, len(CONTENT)) == 0
    jobs.store_product(db, "1" * 64, b"another")
    jobs.load_product(db, PRODUCT.sha256)
    assert jobs.prune_products(db, len(CONTENT)) == 1
    kept = jobs.load_product(db, PRODUCT.sha256), jobs.load_product(db, "1" * 64)
    assert kept.count(None) == 1


def test_graders_look_past_what_is_still_to_be_built(db: Database) -> None:
    """By lane, so that a deep queue at the builders costs the graders nothing; a regrade starts over."""
    builder, gpu = open_builder(db), open_slot(db)
    first = submit(db, language="cuda")
    submit(db, language="cuda")
    ready(db, must_claim(db, builder))
    assert row(db, first.id).lane == first.lane.replace("[1,", "[2,", 1)
    with db.read() as session:
        assert [head.submission_id for head in heads(session, gpu)] == [first.id]
        assert first.id not in [head.submission_id for head in heads(session, builder)]
    held = must_claim(db, gpu)
    jobs.finish(db, first.id, held.fence, report())
    again = jobs.regrade(db, SECRET, PROJECT, first.id, deadline_s=60).row
    assert (again.status, again.lane, again.builds) == (SubmissionStatus.QUEUED, first.lane, None)
