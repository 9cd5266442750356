"""The operator's command line, as an operator uses it: arguments, answers, exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import select, update
from structlog.testing import capture_logs
from typer.testing import CliRunner

from grading import jobs, keys
from grading.cli.__main__ import app
from grading.db import Database
from grading.errors import AlreadyEnded, NotFound
from grading.jobs import Idempotency
from grading.models import Attempt, Episode, IdempotencyKey, Slot, Submission
from grading.states import AttemptEnd, SlotState, SubmissionStatus
from tests.grading.support import (
    LEASES,
    PROJECT,
    SECRET,
    attempts,
    must_claim,
    new_episode,
    open_slot,
    report,
    row,
    submit,
)

Run = Callable[..., Result]
DAY_MS = 86_400_000


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """Nothing listens where the broker should be: every command must do its work without."""
    return {
        "DATABASE_URL": database_url,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "KERNEL_ENV_DATA_DIR": str(tmp_path),
        "KERNEL_ENV_EVALUATOR": "mock",
    }


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    def invoke(*arguments: str, code: int = 0, **more: Any) -> Result:
        with capture_logs():  # the entry point sends them to standard error
            answer: Result = CliRunner().invoke(app, list(arguments), env=environment, **more)
        if answer.exception is not None and not isinstance(answer.exception, SystemExit):
            raise answer.exception
        assert answer.exit_code == code, answer.output
        return answer

    return invoke


def answer(result: Result) -> Any:
    return json.loads(result.stdout)


def finished(db: Database, days_ago: float = 0.0, **more: object) -> Submission:
    """A graded submission that ended so long ago."""
    slot = open_slot(db, "grader", incarnation="one")
    submit(db, **more)
    found = must_claim(db, slot)
    ended = jobs.finish(db, found.submission_id, found.fence, report()).submission
    age_ms = round(days_ago * DAY_MS)
    with db.write() as session:
        aged = {"finished_at_ms": Submission.finished_at_ms - age_ms}
        session.execute(update(Submission).where(Submission.id == ended.id).values(**aged))
    return ended


def test_keys_are_made_listed_and_revoked(run: Run, db: Database) -> None:
    made = run("keys", "make", "alpha", "--name", "trainer", "--scope", "admin", "--rate-per-minute", "60")
    token = made.stdout.strip()
    found = keys.find_key(db, token)
    assert found is not None
    assert (found.project_id, found.scopes, found.rate_per_minute) == ("alpha", ["admin"], 60)
    assert token not in made.stderr
    listed = run("keys", "list").stdout
    assert found.prefix in listed
    assert token not in listed
    assert token not in json.dumps(answer(run("keys", "list", "--json")))
    run("keys", "revoke", found.prefix)
    assert keys.find_key(db, token) is None
    assert run("keys", "list").stdout == "No keys.\n"
    (revoked,) = answer(run("keys", "list", "--revoked", "--json"))
    assert revoked["revoked_at"] is not None
    assert "scopes are among" in run("keys", "make", "alpha", "--scope", "root", code=2).output


def test_workers_are_listed_with_their_health(run: Run, db: Database) -> None:
    assert "No worker" in run("workers").stdout
    slot = open_slot(db, "gpu-a", lanes=3)
    submit(db)
    must_claim(db, slot)
    jobs.quarantine(db, slot.id, slot.incarnation, "device_fault: Xid 79")
    (shown,) = answer(run("workers", "--json"))
    assert (shown["state"], shown["running"], shown["lanes"], shown["faults"]) == ("quarantined", 1, 3, 1)
    assert shown["fault"] == "device_fault: Xid 79"
    with db.write() as session:
        session.execute(update(Slot).values(lease_until_ms=0))
    assert "lost" in run("workers").stdout


def test_draining_outlives_the_worker(run: Run, db: Database) -> None:
    slot = open_slot(db, "gpu-a")
    run("drain", "host")
    assert state(db) == (SlotState.DRAINING, "drained by an operator")
    jobs.release_slot(db, slot.id, slot.incarnation)
    again = jobs.SlotIdentity(slot.id, "second", slot.kind, "mock", "host", 0, slot.queue)
    jobs.register_slot(db, again, LEASES)
    jobs.note_probe(db, slot.id, "second", {"ok": True}, healthy=True)
    assert state(db)[0] is SlotState.DRAINING
    run("undrain", slot.queue)
    assert state(db)[0] is SlotState.STARTING, "it is probed first"
    jobs.note_probe(db, slot.id, "second", {"ok": True}, healthy=True)
    assert state(db) == (SlotState.READY, None)


def state(db: Database) -> tuple[SlotState, str | None]:
    with db.read() as session:
        (slot,) = session.scalars(select(Slot))
        return slot.state, slot.reason


def test_draining_waits_for_what_runs(run: Run, db: Database) -> None:
    slot = open_slot(db, "gpu-a")
    submit(db)
    must_claim(db, slot)
    run("drain", "--all", "--wait", "0.1", code=1)
    jobs.hand_back_slot(db, slot.id, slot.incarnation)
    run("drain", "--all", "--wait", "5")


def test_slots_must_be_named_and_known(run: Run, db: Database) -> None:
    run("drain", code=2)
    run("drain", "gpu-a", "--all", code=2)
    with pytest.raises(NotFound):
        run("drain", "nobody")


def test_requeueing_costs_nothing(run: Run, db: Database) -> None:
    slot = open_slot(db, "gpu-a")
    submitted = submit(db)
    found = must_claim(db, slot)
    (shown,) = answer(run("requeue", "--slot", "gpu-a", "--json"))
    assert shown == {"submission": submitted.id, "project": PROJECT, "run": None, "status": "queued",
                     "attempt": 1, "losses": 0}  # fmt: skip
    assert [attempt.outcome for attempt in attempts(db, submitted.id)] == [AttemptEnd.HANDED_BACK]
    assert row(db, submitted.id).fence > found.fence
    run("requeue", submitted.id)
    run("requeue", code=2)
    jobs.cancel_submission(db, PROJECT, submitted.id)
    with pytest.raises(AlreadyEnded):
        run("requeue", submitted.id)


def test_cancelling_by_id_and_by_run(run: Run, db: Database) -> None:
    one, of_run = submit(db), [submit(db, run_id="run") for _ in range(2)]
    run("cancel", one.id)
    assert row(db, one.id).status is SubmissionStatus.CANCELLED
    shown = answer(run("cancel", "--run", "run", "--project", PROJECT, "--json"))
    assert {item["submission"] for item in shown} == {item.id for item in of_run}
    run("cancel", "--run", "run", code=2)


def test_purging_by_age(run: Run, db: Database) -> None:
    old, fresh, waiting = finished(db, 40), finished(db, 1), submit(db)
    counted = answer(run("purge", "--older-than", "30d", "--dry-run", "--json"))
    assert (counted["submissions"], counted["stripped"]) == (1, 0)
    assert "aborted" in run("purge", "--older-than", "30d", code=1, input="n\n").output.lower()
    assert row(db, old.id).id == old.id
    assert answer(run("purge", "--older-than", "30d", "--yes", "--json")) == counted
    with db.read() as session:
        assert set(session.scalars(select(Submission.id))) == {fresh.id, waiting.id}
        assert set(session.scalars(select(Attempt.submission_id))) == {fresh.id}


def test_purging_keeps_what_active_episodes_show(run: Run, db: Database) -> None:
    episode = new_episode(db)
    turn = finished(db, 40, episode_id=episode.id)
    run("purge", "--older-than", "30d", "--yes")
    assert row(db, turn.id).id == turn.id
    jobs.cancel_episode(db, PROJECT, episode.id)
    with db.write() as session:
        session.execute(update(Episode).values(finished_at_ms=Episode.finished_at_ms - 40 * DAY_MS))
    removed = answer(run("purge", "--older-than", "30d", "--yes", "--json"))
    assert (removed["submissions"], removed["episodes"]) == (1, 1)


def test_purging_only_sources_and_logs(run: Run, db: Database) -> None:
    old = finished(db, 40, code="a long source")
    stripped = answer(run("purge", "--older-than", "2w", "--keep-results", "--yes", "--json"))
    assert (stripped["stripped"], stripped["submissions"]) == (1, 0)
    kept = row(db, old.id)
    assert (kept.code, kept.reward) == ("", 1.3)
    assert answer(run("purge", "--older-than", "2w", "--keep-results", "--yes", "--json"))["stripped"] == 0


def test_purging_forgets_idempotency_keys_after_their_day(run: Run, db: Database) -> None:
    for name in ("old", "fresh"):
        new = jobs.NewSubmission(PROJECT, "code", task_id="task")
        jobs.submit(db, SECRET, new, Idempotency(PROJECT, name, b""))
    with db.write() as session:
        aged = update(IdempotencyKey).where(IdempotencyKey.key == "old")
        session.execute(aged.values(created_at_ms=IdempotencyKey.created_at_ms - 2 * DAY_MS))
    run("purge", "--older-than", "365d", "--yes")
    with db.read() as session:
        assert list(session.scalars(select(IdempotencyKey.key))) == ["fresh"]


@pytest.mark.parametrize("age", ["30", "1m", "-3d", "23h"])
def test_an_age_that_is_none(age: str, run: Run) -> None:
    run("purge", "--older-than", age, "--yes", code=2)


def test_the_doctor_says_what_to_do(run: Run, db: Database) -> None:
    checks = {check["name"]: check for check in answer(run("doctor", "--json", code=1))}
    assert checks["migrations"]["state"] == "ok"
    assert "failed" not in (checks["database"]["state"], checks["clock"]["state"])
    assert checks["workers"]["state"] == checks["broker"]["state"] == "failed"
    assert all(bool(check["remedy"]) == (check["state"] != "ok") for check in checks.values())
    open_slot(db)
    lost = submit(db)
    with db.write() as session:
        session.execute(update(Submission).where(Submission.id == lost.id).values(deadline_at_ms=1))
    text = run("doctor", code=1).stdout
    assert "start one: `python -m workers.reaper`" in text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_errors_are_one_sentence_and_an_exit_code(environment: dict[str, str]) -> None:
    def cli(*arguments: str, **more: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "grading.cli", *arguments]
        done = subprocess.run(command, env={**os.environ, **environment, **more}, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        return done.returncode, done.stderr

    assert cli("keys", "revoke", "kg_none") == (1, "there is no key kg_none\n")
    code, said = cli("workers", PORT="many")
    assert (code, said.startswith("PORT takes")) == (78, True)
    nowhere = "postgresql://postgres@127.0.0.1:1/nothing"
    assert cli("workers", DATABASE_URL=nowhere)[0] == 69
