"""Batches: accepted or refused item by item, numbered as they end, cancelled together, never over the quota."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evaluator.verdicts import Verdict
from evaluator.version import VERSION
from grading import jobs
from grading.db import Database
from grading.errors import IdempotencyMismatch, NotFound, QuotaExceeded
from grading.jobs import BatchItem, CreatedBatch, Idempotency, NewBatch, NewSubmission
from grading.keys import NewKey, make_key
from grading.models import Batch, Submission
from grading.states import SubmissionStatus
from tests.grading.support import PROJECT, SECRET, TASK, must_claim, new_episode, open_slot, report, row


def item(index: int, **more: object) -> BatchItem:
    if "episode_id" not in more:
        more.setdefault("task_id", TASK)
    new = NewSubmission(**{"project_id": PROJECT, "code": f"code {index}"} | more)  # type: ignore[arg-type]
    return BatchItem(index, f"item-{index}", new)


def create(db: Database, *items: BatchItem, idempotency: Idempotency | None = None, **more: object) -> CreatedBatch:
    new = NewBatch(project_id=PROJECT, items=items, **more)  # type: ignore[arg-type]
    return jobs.create_batch(db, SECRET, new, idempotency)


def batch_row(db: Database, batch_id: str) -> Batch:
    with db.read() as session:
        return session.get_one(Batch, batch_id)


def test_items_are_refused_one_by_one_and_numbered_first(db: Database) -> None:
    opened = new_episode(db)
    made = create(
        db,
        item(0),
        item(1, episode_id=opened.id),
        item(3, episode_id=opened.id),
        item(4, episode_id="ep_nowhere"),
        refused={2: {"custom_id": None, "code": "invalid_request"}},
    )
    assert [submission.batch_index for submission in made.accepted] == [0, 1]
    found = batch_row(db, made.row.id)
    assert (found.size, found.endings) == (5, 3)
    assert {index: (entry["code"], entry["ending"]) for index, entry in found.refused.items()} == {
        "2": ("invalid_request", 1),
        "3": ("turn_conflict", 2),
        "4": ("not_found", 3),
    }


def test_endings_number_themselves(db: Database) -> None:
    slot = open_slot(db)
    made = create(db, item(0), item(1), item(2))
    ended = []
    for _ in range(2):
        claim = must_claim(db, slot)
        jobs.finish(db, claim.submission_id, claim.fence, report(Verdict.INCORRECT))
        ended.append(claim.submission_id)
    cancelled = jobs.cancel_batch(db, PROJECT, made.row.id)
    assert [submission.status for submission in cancelled] == [SubmissionStatus.CANCELLED]
    assert [row(db, name).batch_ending for name in [*ended, cancelled[0].id]] == [1, 2, 3]
    assert batch_row(db, made.row.id).endings == 3
    assert jobs.cancel_batch(db, PROJECT, made.row.id) == []
    with pytest.raises(NotFound):
        jobs.cancel_batch(db, "another project", made.row.id)


def test_many_ends_and_a_cancel_at_once_number_without_gaps(db: Database) -> None:
    slots = [open_slot(db, f"gpu-{number}") for number in range(4)]
    made = create(db, *(item(index) for index in range(16)))
    claims = [must_claim(db, slot) for slot in slots]
    with ThreadPoolExecutor(5) as pool:
        ends = [pool.submit(jobs.finish, db, claim.submission_id, claim.fence, report()) for claim in claims]
        pool.submit(jobs.cancel_batch, db, PROJECT, made.row.id).result()
        for end in ends:
            end.exception()  # a cancel may have come first
    numbers = sorted(row(db, submission.id).batch_ending or 0 for submission in made.accepted)
    assert numbers == list(range(1, 17))


def test_the_same_key_makes_one_batch(db: Database) -> None:
    once = Idempotency("owner", "key", b"body")
    first = create(db, item(0), idempotency=once)
    again = create(db, item(0), idempotency=once)
    assert (again.row.id, again.replayed, list(again.accepted)) == (first.row.id, True, [])
    with pytest.raises(IdempotencyMismatch):
        create(db, item(0), idempotency=Idempotency("owner", "key", b"other"))


def test_a_quota_holds_however_many_ask_at_once(db: Database) -> None:
    key, _ = make_key(db, NewKey(project_id=PROJECT, name="trainer"))
    start = threading.Barrier(8)

    def send(number: int) -> bool:
        start.wait(10)
        try:
            new = NewSubmission(PROJECT, f"code {number}", task_id=TASK, key_id=key.id, in_flight_max=3)
            jobs.submit(db, SECRET, new)
        except QuotaExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(8))) == 3
    refused = create(db, item(0, key_id=key.id, in_flight_max=4), item(1, key_id=key.id, in_flight_max=4))
    assert [entry["code"] for entry in refused.row.refused.values()] == ["too_many_in_flight"]


def test_a_batch_may_reuse_verdicts_of_its_run(db: Database) -> None:
    slot = open_slot(db)
    first = create(db, item(0, run_id="run", code="same"))
    claim = must_claim(db, slot)
    graded = replace(report(), environment={"gpu": "mock", "grader": VERSION})
    jobs.finish(db, claim.submission_id, claim.fence, graded)
    again = create(db, item(0, run_id="run", code="same", dedupe=True), item(1, run_id="run", dedupe=True))
    reused: Submission = again.accepted[0]
    assert (reused.status, reused.deduped_from) == (SubmissionStatus.COMPLETED, first.accepted[0].id)
    assert (reused.batch_ending, batch_row(db, again.row.id).endings) == (1, 1)
    assert again.accepted[1].status is SubmissionStatus.QUEUED
