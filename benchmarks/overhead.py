"""`python -m benchmarks.overhead`: from the POST to the verdict, less the grading itself, with the mock evaluator.

One submission after another through a whole server of its own, once over SQLite and once over a Postgres of its own.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service import KERNEL, TASK, facts, server, summary
from benchmarks.support import write_record
from tests.services.postgres import execute
from tests.services.postgres_server import PostgresServer

WARM = 20


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--count", type=int, default=500)
    made.add_argument("--record", type=Path, help="write everything measured to this JSON file")
    options = made.parse_args()
    record = facts("overhead") | {"count": options.count, "overhead_ms": {}}
    for kind in ("sqlite", "postgres"):
        record["overhead_ms"][kind] = summary(run(kind, options.count))
    write_record(options.record, record)
    print(json.dumps(record, indent=1))


def run(kind: str, count: int) -> list[float]:
    """Everything for one kind of database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-overhead-")))
        settings = {"KERNEL_ENV_EVALUATOR": "mock", **stack.enter_context(database(kind))}
        return measure(stack.enter_context(server(folder, **settings)), count)


@contextmanager
def database(kind: str) -> Iterator[dict[str, str]]:
    """Settings that name the database: none for the embedded SQLite."""
    if kind == "sqlite":
        yield {}
        return
    with closing(PostgresServer()) as started:
        started.start()
        execute(started.url, "CREATE DATABASE bench")
        yield {"DATABASE_URL": started.url.rpartition("/")[0] + "/bench"}


def measure(client: httpx.Client, count: int) -> list[float]:
    """Seconds of each submission that were not spent on grading it."""
    code = KERNEL.read_text()
    spent = [_one(client, f"{code}\n# {number}\n") for number in range(WARM + count)]
    return spent[WARM:]


def _one(client: httpx.Client, code: str) -> float:
    started = time.monotonic()
    answer = client.post("/submissions", params={"wait": 60}, json={"task_id": TASK, "code": code})
    seconds = time.monotonic() - started
    found: dict[str, Any] = answer.raise_for_status().json()
    if found["verdict"] is None:
        raise RuntimeError(f"no verdict: {found['error']}")
    return seconds - float(sum(found["timings"]["phases"].values()))


if __name__ == "__main__":
    main()
