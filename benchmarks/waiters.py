"""`python -m benchmarks.waiters`: a thousand clients wait on two processes of the API, over Postgres.

Measured are `/healthz` meanwhile (while all of them arrive at once, while they wait, while they are answered), and the
time from the commit of a submission's end to the last byte of its waiter's answer: with ends scattered over three
quarters of a minute, each a real claim and finish, and with all of them in one transaction.
"""

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update

from benchmarks import openenv_load, raw_http
from benchmarks.api import Api, api
from benchmarks.raw_http import Connection
from benchmarks.service import KERNEL, TASK, facts, summary
from benchmarks.support import write_record
from evaluator.report import Report, Timing
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.events import Publisher
from grading.jobs import SlotIdentity
from grading.models import Submission
from grading.settings import Leases
from grading.states import SlotState, SubmissionStatus

KIND = "bench"  # a GPU that nobody but us has
LEASES = Leases(lease_s=3600.0, slot_lease_s=3600.0)
SLOT = SlotIdentity("bench-0", "bench", KIND, "mock", "bench", 0, "gpu.bench.0")
REPORT = Report(Verdict.CORRECT, "as the benchmark says " * 20, timing=Timing(1.0, 0.5, 2.0, (1.9, 2.1), pairs=10))
BATCH = 250
PROBE_S = 0.02
SPREAD_S = 45.0
SETTLE_S = 3.0
CALM_S = 8.0
OPENENV_EVAL_S = 10.0


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--clients", type=int, default=1000)
    made.add_argument("--processes", type=int, default=2)
    made.add_argument("--openenv", type=Path, metavar="PYTHON", help="compare with OpenEnv's server")
    made.add_argument("--record", type=Path, help="write everything measured to this JSON file")
    options = made.parse_args()
    record = facts("waiters") | {"clients": options.clients, "processes": options.processes}
    with api("postgres", options.processes) as server:
        for name, feeder in (("scattered", end_scattered), ("all_at_once", end_at_once)):
            record[name] = asyncio.run(measure(server, options.clients, feeder))
    if options.openenv:
        record["openenv"] = openenv_load.waiters(options.openenv, options.clients, OPENENV_EVAL_S)
    write_record(options.record, record)
    print(json.dumps(record, indent=1))


async def measure(server: Api, count: int, feeder: Any) -> dict[str, Any]:
    """One round: submit, have everybody wait, end everything, and compare the clocks."""
    ids = await asyncio.to_thread(submit, server, count)
    context = multiprocessing.get_context("spawn")
    ended: Queue[dict[str, float]] = context.Queue()
    probed: Queue[list[tuple[float, float]]] = context.Queue()
    ready, stop = context.Event(), context.Event()
    prober = context.Process(target=probe, args=[server.port, probed, ready, stop])
    feeding = context.Process(target=feed, args=[feeder.__name__, server.db.engine.url.render_as_string(False),
                                                 server.redis_url, ids, ended])  # fmt: skip
    prober.start()
    await asyncio.to_thread(ready.wait)
    waiting = [asyncio.create_task(wait(server.port, name)) for name in ids]
    await asyncio.sleep(SETTLE_S)
    calm_s = time.monotonic()
    await asyncio.sleep(CALM_S)
    feeding.start()
    answered = dict(await asyncio.gather(*waiting))
    stop.set()
    ends = await asyncio.to_thread(ended.get)
    health = await asyncio.to_thread(probed.get)
    feeding.join()
    prober.join()
    late = [answered[name] - ends[name] for name in ids]
    first_end_s = min(ends.values())
    stages = {
        "while_they_arrive": [span for at, span in health if at < calm_s],
        "while_they_wait": [span for at, span in health if calm_s <= at < first_end_s],
        "while_they_are_answered": [span for at, span in health if at >= first_end_s],
    }
    told = {name: summary(spans) | {"probes": len(spans)} for name, spans in stages.items() if spans}
    return {"end_to_answer_ms": summary(late), "healthz_ms": told}


def submit(server: Api, count: int) -> list[str]:
    """Have as many wait for a GPU that nobody has."""
    code = KERNEL.read_text()
    ids: list[str] = []
    with server.client() as client:
        while len(ids) < count:
            size = min(BATCH, count - len(ids))
            items = [{"custom_id": str(n), "task_id": TASK, "code": code, "gpu": KIND} for n in range(size)]
            batch = client.post("/batches", json={"items": items}).raise_for_status().json()
            ids += [place["submission_id"] for place in batch["items"]]
    return ids


async def wait(port: int, name: str) -> tuple[str, float]:
    """(id, when the answer that it has ended was there)."""
    connection = await Connection.open("127.0.0.1", port)
    request = raw_http.get(f"/submissions/{name}?wait=60")
    while True:
        answer = await connection.send(request)
        if b'"status":"completed"' in answer.body:
            connection.close()
            return name, answer.at_s
        assert answer.status == 200, answer.body


def probe(port: int, probed: "Queue[list[tuple[float, float]]]", ready: Any, stop: Any) -> None:
    """Ask for health on fresh connections, which the kernel spreads over the processes: (when, seconds) each."""

    async def run() -> list[tuple[float, float]]:
        spans = []
        while not stop.is_set():
            started = time.monotonic()
            connection = await Connection.open("127.0.0.1", port)
            answer = await connection.send(raw_http.get("/healthz"))
            spans.append((started, answer.at_s - started))
            ready.set()
            connection.close()
            await asyncio.sleep(PROBE_S)
        return spans

    probed.put(asyncio.run(run()))


def feed(name: str, url: str, redis_url: str, ids: Sequence[str], ended: "Queue[dict[str, float]]") -> None:
    """End everything in the one way or the other; tells when each end was committed."""
    db, publisher = Database(url), Publisher(redis_url)
    ended.put(globals()[name](db, publisher, ids))
    db.dispose()


def end_scattered(db: Database, publisher: Publisher, ids: Sequence[str]) -> dict[str, float]:
    """Claim and finish one after another, evenly over the time."""
    jobs.register_slot(db, SLOT, LEASES)
    jobs.set_slot_state(db, SLOT.slot_id, SLOT.incarnation, SlotState.READY)
    ends, started = {}, time.monotonic()
    for number in range(len(ids)):
        time.sleep(max(0.0, started + SPREAD_S * number / len(ids) - time.monotonic()))
        claimed = jobs.claim(db, SLOT.slot_id, SLOT.incarnation, LEASES)
        assert claimed is not None
        done = jobs.finish(db, claimed.submission_id, claimed.fence, REPORT)
        ends[claimed.submission_id] = time.monotonic()
        publisher.ended(done.submission)
    return ends


def end_at_once(db: Database, publisher: Publisher, ids: Sequence[str]) -> dict[str, float]:
    """One transaction ends everything, then every end is hinted at."""
    values = {"status": SubmissionStatus.COMPLETED, "stage": REPORT.stage, "verdict": REPORT.verdict, "reward": 1.3}
    with db.write() as session:
        now = session.scalars(select(func.max(Submission.created_at_ms))).one() + 1
        mine = update(Submission).where(Submission.id.in_(ids))
        session.execute(mine.values(**values, result=REPORT.result(), environment={}, phases={}, finished_at_ms=now))
    at_s = time.monotonic()
    with db.read() as session:
        for row in session.scalars(select(Submission).where(Submission.id.in_(ids))):
            publisher.ended(row)
    return dict.fromkeys(ids, at_s)


if __name__ == "__main__":
    main()
