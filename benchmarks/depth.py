"""`python -m benchmarks.depth`: what submit, poll and claim cost when 20,000 submissions wait, against 10.

Over HTTP for submit and poll, in this process for claims, on Postgres and on SQLite, with the query plans. Each step
takes one in, has one built and grades one, so that the depth stays as it is; a quarter of all is to be built. The
shallow and the deep installation take turns, so that what else the machine does slows both alike. They are looked at
before the planner has seen the new rows and after: a burst comes without notice. (Most of the deep one's rows came in
batches, whose counter a finish updates as well.)
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from benchmarks.overhead import database
from benchmarks.plans import plans
from benchmarks.service import KERNEL, TASK, facts, summary, wait_until_up
from benchmarks.support import write_record
from evaluator.report import Report
from evaluator.verdicts import Verdict
from grading import jobs
from grading.celery_app import COMPILE_QUEUE
from grading.db import Database
from grading.jobs import BatchItem, NewBatch, NewSubmission, SlotIdentity
from grading.migrate import upgrade
from grading.settings import Leases, Settings
from grading.states import Priority, SlotRole, SlotState
from launcher.commands import REPOSITORY
from launcher.ports import free_port
from tests.services.broker import broker

SHALLOW = 10
BATCH = 200
RUNS = 4
WARM = 5
PROJECT = "default"
SECRET = b"a secret of the benchmark"
LEASES = Leases(lease_s=3600.0, slot_lease_s=3600.0)
SLOT = SlotIdentity("bench-0", "bench", "mock", "mock", "bench", 0, "gpu.mock.bench.0")
BUILDER = SlotIdentity("bench-builder", "bench", "builder", "mock", "bench", 0, COMPILE_QUEUE, role=SlotRole.BUILDER)
REPORT = Report(Verdict.INCORRECT, "as the benchmark says")
STEPS = ("submit", "poll", "claim_build", "make_ready", "claim", "finish")
TO_BUILD = 4


class Bench:
    """One installation without workers: its API in a process of its own, its one slot here."""

    def __init__(self, db: Database, client: httpx.Client) -> None:
        self.db, self.client = db, client
        self._code = KERNEL.read_text()
        self._numbers = itertools.count()
        for slot in (SLOT, BUILDER):
            jobs.register_slot(db, slot, LEASES)
            jobs.set_slot_state(db, slot.slot_id, slot.incarnation, SlotState.READY)

    def fill(self, count: int) -> None:
        """Have as many wait, over several runs and all priorities."""
        while count > 0:
            size = min(BATCH, count)
            items = [BatchItem(n, str(n), self._new()) for n in range(size)]
            jobs.create_batch(self.db, SECRET, NewBatch(PROJECT, items))
            count -= size

    def _new(self) -> NewSubmission:
        number = next(self._numbers)
        return NewSubmission(
            PROJECT,
            self._code,
            task_id=TASK,
            language="cuda" if number // RUNS % TO_BUILD == 0 else "triton",
            run_id=f"run-{number % RUNS}",
            priority=Priority(number % len(Priority)),
        )

    def step(self) -> list[float]:
        """Seconds of one submit, one poll of what still waits, and one claim and end each of a builder and a grader."""
        marks = [time.monotonic()]
        body = {"task_id": TASK, "code": self._code, "language": "cuda", "run_id": "run-0"}
        taken = self.client.post("/submissions", json=body).raise_for_status().json()
        marks.append(time.monotonic())
        self.client.get(f"/submissions/{taken['id']}").raise_for_status()
        marks.append(time.monotonic())
        built = jobs.claim(self.db, BUILDER.slot_id, BUILDER.incarnation, LEASES)
        marks.append(time.monotonic())
        assert built is not None
        jobs.make_ready(self.db, built.submission_id, built.fence, [], {"build": 1.0})
        marks.append(time.monotonic())
        claimed = jobs.claim(self.db, SLOT.slot_id, SLOT.incarnation, LEASES)
        marks.append(time.monotonic())
        assert claimed is not None
        jobs.finish(self.db, claimed.submission_id, claimed.fence, REPORT)
        marks.append(time.monotonic())
        return [after - before for before, after in itertools.pairwise(marks)]


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--depth", type=int, default=20_000)
    made.add_argument("--count", type=int, default=200, help="steps at each depth")
    made.add_argument("--record", type=Path, help="write everything measured to this JSON file")
    options = made.parse_args()
    record = facts("depth") | {"depths": [SHALLOW, options.depth], "count": options.count}
    for kind in ("sqlite", "postgres"):
        record[kind] = run(kind, options.depth, options.count)
    write_record(options.record, record)
    for kind in ("sqlite", "postgres"):
        record[kind] |= {"plans": record[kind]["plans"]["full_scans"]}  # the rest is for the record
    print(json.dumps(record, indent=1))


def run(kind: str, depth: int, count: int) -> dict[str, Any]:
    """Everything for one kind of database."""
    with installation(kind) as shallow, installation(kind) as deep:
        shallow.fill(SHALLOW)
        deep.fill(depth)
        found = {"fresh": measure(shallow, deep, count)}
        for bench in (shallow, deep):
            with bench.db.write() as session:
                session.execute(text("ANALYZE"))
        return found | {"analyzed": measure(shallow, deep, count), "plans": plans(deep.db, SLOT, BUILDER, LEASES)}


def measure(shallow: Bench, deep: Bench, count: int) -> dict[str, Any]:
    """Percentiles of each step in milliseconds, and how many times the deep one's median is the shallow one's."""
    spent = [(shallow.step(), deep.step()) for _ in range(WARM + count)][WARM:]
    found: dict[str, Any] = {}
    for index, name in enumerate(STEPS):
        at_10, at_depth = (summary([pair[which][index] for pair in spent]) for which in (0, 1))
        ratio = {key: round(at_depth[key] / at_10[key], 2) for key in ("p50", "p95")}
        found[name] = {"shallow_ms": at_10, "deep_ms": at_depth, "ratio": ratio}
    return found


@contextmanager
def installation(kind: str) -> Iterator[Bench]:
    """A migrated database, a broker, and the API over both."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-depth-")))
        bells = stack.enter_context(broker())
        settings = {"KERNEL_ENV_DATA_DIR": str(folder), "REDIS_URL": bells.url, "KERNEL_ENV_EVALUATOR": "mock"}
        settings |= stack.enter_context(database(kind))
        db = stack.enter_context(opened(Settings.load(settings).database_url))
        upgrade(db)
        yield Bench(db, stack.enter_context(api(settings, folder)))


@contextmanager
def opened(url: str) -> Iterator[Database]:
    db = Database(url)
    yield db
    db.dispose()


@contextmanager
def api(settings: dict[str, str], folder: Path) -> Iterator[httpx.Client]:
    """A client of an API that runs as long as this."""
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "gunicorn", "-c", "python:app.gunicorn_conf", "-b", address, "app.wsgi:app"]
    with (folder / "api.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, **settings}, stdout=log, stderr=log)
    with closing(httpx.Client(base_url=f"http://{address}", timeout=60, trust_env=False)) as client:
        try:
            wait_until_up(client, process, workers=0)
            yield client
        finally:
            process.terminate()
            process.wait(30)


if __name__ == "__main__":
    main()
