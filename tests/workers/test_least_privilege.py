"""What a worker host can and cannot do by its database role, and who can look into a worker."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from evaluator.errors import GraderFault
from evaluator.prebuilt import Prebuilt
from grading import jobs, keys, roles
from grading.db import Database
from grading.jobs import BatchItem, Reaper
from grading.states import SubmissionStatus
from tests.conftest import empty
from tests.grading.support import (
    LAPSED,
    LEASES,
    PROJECT,
    SECRET,
    must_claim,
    new_episode,
    open_builder,
    open_slot,
    report,
    submit,
)
from tests.services.broker import Broker
from tests.services.installation import Installation, cuda_source, installation, source

BARE = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


@pytest.fixture
def owner(postgres_url: str) -> Iterator[Database]:
    empty(postgres_url)
    db = Database(postgres_url)
    yield db
    db.dispose()


@pytest.fixture
def worker_url(owner: Database) -> Iterator[str]:
    """The database as a worker host reaches it: by a role of its own with a password."""
    name, password = f"kernel_grader_test_{secrets.token_hex(6)}", secrets.token_hex(8)
    with owner.engine.connect() as connection:
        for _ in range(2):  # it may be run again
            roles.apply(connection, roles.statements(name, password=password))
    yield owner.engine.url.set(username=name, password=password).render_as_string(hide_password=False)
    with owner.write() as session:
        session.execute(text(f'DROP OWNED BY "{name}"'))
        session.execute(text(f'DROP ROLE "{name}"'))


@pytest.fixture
def worker(worker_url: str) -> Iterator[Database]:
    db = Database(worker_url)
    yield db
    db.dispose()


def test_the_role_may_do_all_that_grading_needs(owner: Database, worker: Database) -> None:
    slots = [open_slot(worker, f"gpu-{n}") for n in range(2)]
    episode = new_episode(owner)
    turn = submit(owner, episode_id=episode.id)
    assert [bell.submission_id for bell in jobs.assign_bells(worker, [turn.id])] == [turn.id]
    found = must_claim(worker, slots[0])
    jobs.renew(worker, turn.id, found.fence, LEASES, "compile")
    jobs.bells_after_claim(worker, found.queue, slots[0].queue)
    ended = jobs.finish(worker, turn.id, found.fence, report())
    assert ended.episode is not None
    assert ended.episode.turns_used == 1
    new = jobs.NewSubmission(PROJECT, "code", task_id="task")
    batch = jobs.create_batch(owner, SECRET, jobs.NewBatch(PROJECT, [BatchItem(0, "one", new)]))
    found = must_claim(worker, slots[0])
    jobs.finish_fault(worker, found.submission_id, found.fence, GraderFault("device_fault", "Xid 79"), LEASES)
    jobs.quarantine(worker, slots[0].id, slots[0].incarnation, "Xid 79")
    jobs.note_probe(worker, slots[0].id, slots[0].incarnation, {"ok": True}, healthy=True)
    jobs.note_canary(worker, slots[0].id, slots[0].incarnation, {"kernels": {}})
    found = must_claim(worker, slots[1])
    assert found.submission_id == batch.accepted[0].id
    jobs.finish(worker, found.submission_id, found.fence, report())
    lost, late = submit(owner), submit(owner, deadline_s=0)
    must_claim(worker, slots[0], LAPSED)
    done = Reaper(worker, LAPSED).run_once()
    assert ([row.id for row in done.waiting], [row.id for row in done.ended]) == ([lost.id], [late.id])
    must_claim(worker, slots[0])
    jobs.hand_back_slot(worker, slots[0].id, slots[0].incarnation)
    jobs.release_slot(worker, slots[0].id, slots[0].incarnation)


def test_the_role_may_build(owner: Database, worker: Database) -> None:
    builder = open_builder(worker)
    waiting = submit(owner, language="cuda")
    held = must_claim(worker, builder)
    jobs.store_product(worker, "0" * 64, b"a product")
    jobs.store_product(worker, "0" * 64, b"a product")
    jobs.make_ready(worker, waiting.id, held.fence, [Prebuilt("9.0", "print", ())], {"build": 1.0})
    assert jobs.load_product(worker, "0" * 64) == b"a product"
    assert jobs.prune_products(worker, 1) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM api_keys",
        "SELECT * FROM idempotency_keys",
        "UPDATE api_keys SET scopes = '[\"admin\"]'",
        "UPDATE submissions SET code = 'pass'",
        "UPDATE submissions SET seed_key = ''",
        "UPDATE submissions SET project_id = 'mine'",
        "UPDATE submissions SET reward_mode = 'roofline'",
        "UPDATE build_products SET content = ''",
        "UPDATE episodes SET max_turns = 1000",
        "INSERT INTO submissions (id) VALUES ('sub')",
        "INSERT INTO episodes (id) VALUES ('ep')",
        "DELETE FROM submissions",
        "DELETE FROM slots",
        "TRUNCATE attempts",
        "CREATE TABLE mine (id int)",
        "ALTER TABLE slots ADD COLUMN mine int",
    ],
)
def test_the_role_may_do_nothing_else(owner: Database, worker: Database, statement: str) -> None:
    keys.make_key(owner, keys.NewKey("alpha", "trainer"))
    submit(owner)
    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"), worker.write() as session:
        session.execute(text(statement))


def test_a_worker_grades_with_its_role(owner: Database, worker_url: str, broker: Broker, tmp_path: Path) -> None:
    url = owner.engine.url.render_as_string(hide_password=False)
    with installation(url, broker, tmp_path) as installed:
        processes = [start(DATABASE_URL=worker_url) for start in (installed.start_worker, installed.start_builder)]
        taken = [installed.submit(source("correct")), installed.submit(cuda_source("correct"), language="cuda")]
        ended = installed.wait_ended([row.id for row in taken])
        assert {row.status for row in ended} == {SubmissionStatus.COMPLETED}
        for process in processes:
            assert "permission denied" not in process.log.read_text()
            assert process.terminate() == 0


@pytest.mark.skipif(shutil.which("setpriv") is None or os.geteuid() != 0, reason="needs setpriv, and root to start")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_processes_of_the_same_user_cannot_read_a_worker(installed: Installation) -> None:
    """Without capabilities even root is an ordinary user to another process of his."""
    worker = installed.start(["-m", "workers", "0"], "bare", {}, prefix=BARE)
    worker.wait_logged("slot_ready")
    open_one = subprocess.Popen([*BARE, "sleep", "60"])
    try:
        assert readable(open_one.pid)
        main = psutil.Process(worker.pid)
        for process in (main, *main.children()):
            assert not readable(process.pid), process.cmdline()
    finally:
        open_one.kill()
        open_one.wait()


def readable(pid: int) -> bool:
    script = f"open('/proc/{pid}/environ').read(); open('/proc/{pid}/mem', 'rb')"
    return subprocess.run([*BARE, sys.executable, "-c", script], capture_output=True).returncode == 0


def test_the_printed_script_is_the_same(owner: Database) -> None:
    with owner.engine.connect() as connection:
        script = roles.text(connection, roles.statements("some one"))
    assert 'GRANT SELECT ON "public"."slots" TO "some one";' in script
    assert "api_keys" not in script
