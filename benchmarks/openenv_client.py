"""WebSocket sessions for `benchmarks.openenv_load`. Runs where openenv-core is installed, and brings `websockets`."""

import asyncio
import json
import time
from importlib import metadata
from typing import Any

import websockets

START_S = 60.0
PROBE_S = 0.02


async def steps(port: int, count: int, sessions: int, code: str) -> dict[str, Any]:
    """Seconds of each step, and of all of them."""
    url = f"ws://127.0.0.1:{port}/ws"
    await _until_up(url)
    numbers, spans = iter(range(count)), []
    opened = [await _open(url) for _ in range(sessions)]

    async def session(connection: Any) -> None:
        for number in numbers:
            message = json.dumps({"type": "step", "data": {"code": f"{code}\n# {number}\n"}})
            started = time.monotonic()
            await connection.send(message)
            answer = json.loads(await connection.recv())
            spans.append(time.monotonic() - started)
            if answer["type"] != "observation" or answer["data"]["reward"] != 1.3:
                raise RuntimeError(f"an unexpected answer: {answer}")

    started = time.monotonic()
    await asyncio.gather(*map(session, opened))
    total_s = time.monotonic() - started
    for connection in opened:
        await connection.close()
    return {"version": metadata.version("openenv-core"), "total_s": total_s, "spans_s": spans}


async def waits(port: int, sessions: int, eval_s: float, code: str) -> dict[str, Any]:
    """How much later than `eval_s` as many steps are answered that begin together, and health checks meanwhile."""
    url = f"ws://127.0.0.1:{port}/ws"
    await _until_up(url)
    opened = [await _open(url) for _ in range(sessions)]
    message = json.dumps({"type": "step", "data": {"code": code, "eval_s": eval_s}})

    async def session(connection: Any) -> float:
        started = time.monotonic()
        await connection.send(message)
        await connection.recv()
        return time.monotonic() - started - eval_s

    probing = asyncio.create_task(_probe(port))
    late = await asyncio.gather(*map(session, opened))
    probing.cancel()
    for connection in opened:
        await connection.close()
    return {"version": metadata.version("openenv-core"), "late_s": late, "health_s": await probing}


async def _probe(port: int) -> list[float]:
    """Seconds of `GET /health` on fresh connections, until cancelled."""
    spans: list[float] = []
    try:
        while True:
            started = time.monotonic()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /health HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
            await reader.read()
            spans.append(time.monotonic() - started)
            writer.close()
            await asyncio.sleep(PROBE_S)
    except asyncio.CancelledError:
        return spans


async def _open(url: str) -> Any:
    connection = await websockets.connect(url, max_size=None)
    await connection.send(json.dumps({"type": "reset", "data": {}}))
    await connection.recv()
    return connection


async def _until_up(url: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            await (await websockets.connect(url)).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
