"""Turns: consumed by verdicts alone, one submission at a time, and no more after the last."""

import pytest

from evaluator.errors import GraderFault
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.errors import EpisodeFinished, IdempotencyMismatch, NotFound, TurnConflict
from grading.jobs import Idempotency
from grading.settings import Leases
from grading.states import EpisodeStatus, SubmissionStatus
from tests.grading.support import (
    LEASES,
    PROJECT,
    SECRET,
    attempts,
    episode,
    must_claim,
    new_episode,
    open_slot,
    report,
    row,
    submit,
)


def grade(db: Database, episode_id: str, verdict: Verdict, speedup: float = 2.0) -> str:
    slot = open_slot(db)
    submitted = submit(db, episode_id=episode_id)
    claim = must_claim(db, slot)
    jobs.finish(db, claim.submission_id, claim.fence, report(verdict, speedup))
    return submitted.id


def test_verdicts_take_turns(db: Database) -> None:
    opened = new_episode(db, max_turns=2, reward_mode="speedup")
    first = grade(db, opened.id, Verdict.INCORRECT)
    now = episode(db, opened.id)
    assert (now.turn, now.done, now.best_speedup) == (2, False, None)
    second = grade(db, opened.id, Verdict.CORRECT, 4.0)
    now = episode(db, opened.id)
    assert (now.status, now.turns_used, now.best_speedup) == (EpisodeStatus.FINISHED, 2, 4.0)
    assert (row(db, first).turn, row(db, first).reward) == (1, 0.0)
    assert (row(db, second).turn, row(db, second).reward) == (2, 2.3)
    with pytest.raises(EpisodeFinished):
        submit(db, episode_id=opened.id)


def test_one_submission_at_a_time(db: Database) -> None:
    opened = new_episode(db)
    first = submit(db, episode_id=opened.id)
    with pytest.raises(TurnConflict, match=first.id):
        submit(db, episode_id=opened.id)


def test_the_turn_that_a_client_names_must_be_the_present_one(db: Database) -> None:
    opened = new_episode(db)
    with pytest.raises(TurnConflict, match="turn 1"):
        submit(db, episode_id=opened.id, turn=2)
    assert submit(db, episode_id=opened.id, turn=1).turn == 1


def test_no_verdict_takes_no_turn(db: Database) -> None:
    opened = new_episode(db, max_turns=1)
    slot = open_slot(db)
    submitted = submit(db, episode_id=opened.id)
    claim = must_claim(db, slot)
    fault = GraderFault("no_compiler", "nvcc is missing", retryable=False)
    jobs.finish_fault(db, claim.submission_id, claim.fence, fault, LEASES)
    failed = row(db, submitted.id)
    assert (failed.status, failed.reward, failed.verdict) == (SubmissionStatus.FAILED, None, None)
    assert (failed.error_code, failed.error_retryable) == ("no_compiler", False)
    assert submit(db, episode_id=opened.id, turn=1).turn == 1


def test_partial_credit_is_the_episodes(db: Database) -> None:
    opened = new_episode(db, partial_credit=True)
    assert row(db, grade(db, opened.id, Verdict.INCORRECT)).reward == 0.05


def test_another_projects_episode_does_not_exist(db: Database) -> None:
    opened = new_episode(db)
    with pytest.raises(NotFound):
        submit(db, episode_id=opened.id, project_id="another")
    with pytest.raises(NotFound):
        jobs.cancel_episode(db, "another", opened.id)


def test_cancelling_an_episode_ends_its_work(db: Database) -> None:
    opened = new_episode(db)
    slot = open_slot(db)
    submitted = submit(db, episode_id=opened.id)
    claim = must_claim(db, slot)
    cancelled, ended = jobs.cancel_episode(db, PROJECT, opened.id)
    assert cancelled.status is EpisodeStatus.CANCELLED
    assert [item.id for item in ended] == [submitted.id]
    assert row(db, submitted.id).fence > claim.fence
    assert [attempt.outcome for attempt in attempts(db, submitted.id)] == ["cancelled"]
    assert jobs.cancel_episode(db, PROJECT, opened.id)[1] == []


def test_cancelling_a_run(db: Database) -> None:
    opened = new_episode(db, run_id="run")
    ids = {submit(db, episode_id=opened.id).id, submit(db, run_id="run").id}
    other = submit(db, run_id="another")
    heard: list[str] = []
    assert jobs.cancel_run(db, PROJECT, "run", lambda ended: heard.append(ended.id)) == 2
    assert set(heard) == ids
    assert row(db, other.id).status is SubmissionStatus.QUEUED
    assert jobs.cancel_run(db, PROJECT, "run") == 0
    with pytest.raises(NotFound):
        jobs.cancel_run(db, PROJECT, "no such run")


def test_idle_episodes_expire(db: Database) -> None:
    idle, busy = new_episode(db), new_episode(db)
    submit(db, episode_id=busy.id)
    done = jobs.Reaper(db, Leases(episode_idle_s=0)).run_once()
    assert done.episodes == 1
    assert episode(db, idle.id).status is EpisodeStatus.EXPIRED
    assert episode(db, busy.id).status is EpisodeStatus.ACTIVE


def test_creating_twice_with_one_key(db: Database) -> None:
    key = Idempotency(PROJECT, "key", b"body")
    new = jobs.NewSubmission(PROJECT, "code", task_id="task")
    first = jobs.submit(db, SECRET, new, key)
    second = jobs.submit(db, SECRET, new, key)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.row.id == second.row.id
    with pytest.raises(IdempotencyMismatch):
        jobs.submit(db, SECRET, new, Idempotency(PROJECT, "key", b"another body"))
    assert jobs.submit(db, SECRET, new, Idempotency("another owner", "key", b"body")).row.id != first.row.id


def test_a_refused_request_leaves_its_key_free(db: Database) -> None:
    opened = new_episode(db)
    key = Idempotency(PROJECT, "key", b"body")
    late = jobs.NewSubmission(PROJECT, "code", episode_id=opened.id, turn=2)
    with pytest.raises(TurnConflict):
        jobs.submit(db, SECRET, late, key)
    assert not jobs.submit(db, SECRET, jobs.NewSubmission(PROJECT, "code", episode_id=opened.id), key).replayed
