"""Reused verdicts, regrades, and creating once while two ask at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from evaluator.report import Report
from evaluator.verdicts import Verdict
from evaluator.version import VERSION
from grading import jobs
from grading.db import Database
from grading.errors import NotFinished, NotFound
from grading.jobs import Idempotency, NewSubmission, Reaper
from grading.models import IdempotencyKey, Submission
from grading.states import EpisodeStatus, SubmissionStatus
from tests.grading.support import (
    LEASES,
    PROJECT,
    SECRET,
    episode,
    must_claim,
    new_episode,
    open_slot,
    report,
    row,
    submit,
)


def graded(verdict: Verdict = Verdict.CORRECT, version: str = VERSION) -> Report:
    return replace(report(verdict), environment={"gpu": "mock", "grader": version})


def finish(db: Database, done: Report) -> str:
    claim = must_claim(db, open_slot(db))
    jobs.finish(db, claim.submission_id, claim.fence, done)
    return claim.submission_id


def test_an_equal_source_of_the_run_lends_its_verdict(db: Database) -> None:
    first = submit(db, "same", run_id="run", partial_credit=True)
    finish(db, graded(Verdict.INCORRECT))
    opened = new_episode(db, run_id="run", max_turns=1)
    reused = submit(db, "same", episode_id=opened.id, dedupe=True)
    found = row(db, reused.id)
    assert (found.status, found.verdict, found.deduped_from) == (SubmissionStatus.COMPLETED, "incorrect", first.id)
    assert (row(db, first.id).reward, found.reward, found.attempt) == (0.05, 0.0, 0)
    assert found.result == row(db, first.id).result
    assert episode(db, opened.id).status is EpisodeStatus.FINISHED


@pytest.mark.parametrize(
    "other",
    [
        {"code": "other"},
        {"run_id": "another run"},
        {"run_id": None},
        {"task_id": "level1/20_LeakyReLU"},
        {"gpu_kind": "h100"},
        {"language": "cuda"},
        {"project_id": "another project"},
        {"dedupe": False},
    ],
)
def test_anything_else_is_graded(db: Database, other: dict[str, Any]) -> None:
    submit(db, "same", run_id="run")
    finish(db, graded())
    assert submit(db, **{"code": "same", "run_id": "run", "dedupe": True} | other).status is SubmissionStatus.QUEUED


def test_another_grader_version_is_no_equal(db: Database) -> None:
    submit(db, "same", run_id="run")
    finish(db, graded(version="0.0.1"))
    assert submit(db, "same", run_id="run", dedupe=True).status is SubmissionStatus.QUEUED


def test_a_regrade_stands_beside_the_old_grade(db: Database) -> None:
    opened = new_episode(db, run_id="run")
    old = submit(db, "same", episode_id=opened.id)
    with pytest.raises(NotFinished):
        jobs.regrade(db, SECRET, PROJECT, old.id, deadline_s=60)
    finish(db, graded(Verdict.INCORRECT))
    once = Idempotency("owner", "regrade", b"")
    new = jobs.regrade(db, SECRET, PROJECT, old.id, deadline_s=60, idempotency=once).row
    assert jobs.regrade(db, SECRET, PROJECT, old.id, deadline_s=60, idempotency=once).row.id == new.id
    assert (new.regrade_of, new.episode_id, new.code, new.run_id) == (old.id, None, "same", "run")
    assert new.seed_key != old.seed_key
    assert finish(db, graded()) == new.id
    assert (row(db, new.id).verdict, row(db, old.id).verdict) == (Verdict.CORRECT, Verdict.INCORRECT)
    assert episode(db, opened.id).turns_used == 1
    with pytest.raises(NotFound):
        jobs.regrade(db, SECRET, "another project", old.id, deadline_s=60)


def test_one_key_sent_many_times_at_once_takes_one_turn(db: Database) -> None:
    opened = new_episode(db)
    start = threading.Barrier(6)

    def send(_: int) -> Submission:
        start.wait(10)
        new = NewSubmission(PROJECT, "same", episode_id=opened.id)
        return jobs.submit(db, SECRET, new, Idempotency("owner", "one", b"body")).row

    with ThreadPoolExecutor(6) as pool:
        assert len({made.id for made in pool.map(send, range(6))}) == 1


def test_keys_of_more_than_a_day_ago_are_forgotten(db: Database) -> None:
    for key in ("old", "new"):
        new = NewSubmission(PROJECT, "code", task_id="level1/19_ReLU")
        jobs.submit(db, SECRET, new, Idempotency("owner", key, b""))
    with db.write() as session:
        session.get_one(IdempotencyKey, ("owner", "old")).created_at_ms -= 25 * 3600 * 1000
    Reaper(db, LEASES).run_once()
    with db.read() as session:
        assert [row.key for row in session.scalars(select(IdempotencyKey))] == ["new"]
