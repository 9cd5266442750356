"""`python -m benchmarks.intake`: how many submissions a second two processes of the API accept, over Postgres.

Single ones from so many connections at once, then batches; each accepted one is a committed row. With
`--openenv PYTHON`, an interpreter that has openenv-core, the same sources also go as steps to OpenEnv's own server over
an environment that does nothing: for scale, since a step there is answered from memory and survives nothing.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from benchmarks import openenv_load, raw_http
from benchmarks.api import Api, api
from benchmarks.raw_http import Connection
from benchmarks.service import KERNEL, TASK, facts, summary
from benchmarks.support import write_record
from grading.models import Submission

KIND = "bench"  # a GPU that nobody has: what is accepted stays where it is
WARM = 50


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--count", type=int, default=3000, help="submissions, and items of batches")
    made.add_argument("--connections", type=int, default=32)
    made.add_argument("--batch", type=int, default=128, help="items of a batch")
    made.add_argument("--processes", type=int, default=2)
    made.add_argument("--database", choices=["postgres", "sqlite"], default="postgres")
    made.add_argument("--openenv", type=Path, metavar="PYTHON", help="compare with OpenEnv's server")
    made.add_argument("--record", type=Path, help="write everything measured to this JSON file")
    options = made.parse_args()
    record = facts("intake") | {name: getattr(options, name) for name in ("count", "connections", "processes")}
    record["database"] = options.database
    with api(options.database, options.processes) as server:
        asyncio.run(singles(server, WARM, 4))
        record["single"] = asyncio.run(singles(server, options.count, options.connections))
        record["batch"] = asyncio.run(batches(server, options.count, options.batch))
        require_accepted(server, WARM + options.count + record["batch"]["items"])
    if options.openenv:
        record["openenv"] = openenv_load.intake(options.openenv, options.count, options.connections)
    write_record(options.record, record)
    print(json.dumps(record, indent=1))


async def singles(server: Api, count: int, connections: int) -> dict[str, Any]:
    """Accepted submissions a second, each a request of its own."""
    code, numbers, spans = KERNEL.read_text(), iter(range(count)), []

    async def client() -> None:
        connection = await Connection.open("127.0.0.1", server.port)
        for number in numbers:
            body = {"task_id": TASK, "code": f"{code}\n# {number}\n", "gpu": KIND, "run_id": f"run-{number % 8}"}
            request = raw_http.post("/submissions", body, {"Idempotency-Key": f"single-{count}-{number}"})
            started = time.monotonic()
            answer = await connection.send(request)
            if answer.status != 202:
                raise RuntimeError(f"not accepted: {answer.status} {answer.body[:500]!r}")
            spans.append(answer.at_s - started)
        connection.close()

    total_s = await timed(client, connections)
    return {"a_second": round(count / total_s, 1), "latency_ms": summary(spans)}


async def batches(server: Api, count: int, size: int) -> dict[str, Any]:
    """Accepted items a second, in batches from four connections."""
    code, numbers, spans = KERNEL.read_text(), iter(range(count // size)), []

    async def client() -> None:
        connection = await Connection.open("127.0.0.1", server.port)
        for number in numbers:
            items = [
                {"custom_id": str(n), "task_id": TASK, "code": f"{code}\n# {number} {n}\n", "gpu": KIND}
                for n in range(size)
            ]
            request = raw_http.post("/batches", {"items": items}, {"Idempotency-Key": f"batch-{number}"})
            started = time.monotonic()
            answer = await connection.send(request)
            if answer.status != 202 or answer.json()["counts"]["refused"]:
                raise RuntimeError(f"not accepted: {answer.status} {answer.body[:500]!r}")
            spans.append(answer.at_s - started)
        connection.close()

    total_s = await timed(client, 4)
    items = count // size * size
    return {"size": size, "items": items, "items_a_second": round(items / total_s, 1), "latency_ms": summary(spans)}


async def timed(client: Callable[[], Awaitable[None]], count: int) -> float:
    """Seconds that so many clients take together."""
    started = time.monotonic()
    await asyncio.gather(*(client() for _ in range(count)))
    return time.monotonic() - started


def require_accepted(server: Api, count: int) -> None:
    """Everything that was answered with a 2xx is there."""
    with server.db.read() as session:
        found = session.scalars(select(func.count()).select_from(Submission)).one()
    if found != count:
        raise RuntimeError(f"{count} were accepted and {found} are there")


if __name__ == "__main__":
    main()
