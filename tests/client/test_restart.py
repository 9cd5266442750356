"""The API is killed and asked to end in the middle of 200 waits: every result comes, each once."""

import asyncio
import contextlib
import os
import signal
import time

import psutil
from kernel_grader_client import AsyncKernelGrader, Item

from launcher.demo_server import OwnServer
from tests.app.test_episodes import TASK, source
from tests.services import postgres

COUNT = 200


def api_of(server: OwnServer, other_than: int = 0) -> psutil.Process | None:
    """Gunicorn's main process, which leads a session and which the launcher starts again when it ends."""
    for child in psutil.Process(server.pid).children():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            leads = os.getsid(child.pid) == child.pid and child.pid != other_than
            if leads and "gunicorn" in " ".join(child.cmdline()):
                return child
    return None


def end(server: OwnServer, how: signal.Signals) -> None:
    """End the API and wait until another one has taken its place."""
    api = api_of(server)
    assert api is not None
    api.send_signal(how)
    for _ in range(600):
        time.sleep(0.1)
        if api_of(server, other_than=api.pid) is not None:
            return
    raise AssertionError("the API was not started again")


async def wait_through(server: OwnServer) -> tuple[list[str], list[str]]:
    """(ids that were waited for, custom ids of a batch), each as delivered."""
    delivered, drained = [], []
    async with AsyncKernelGrader(server.url, trust_env=False) as grader:

        async def one(number: int) -> str:
            submission = await grader.submit(source(f"correct eval_s=0.01\n# {number}"), task_id=TASK)
            delivered.append((await grader.wait(submission)).id)
            return submission.id

        async def many() -> None:
            items = [Item(str(number), source(f"incorrect\n# {number}"), task_id=TASK) for number in range(20)]
            async for ended in grader.submit_many(items):
                assert ended.verdict == "incorrect"
                drained.append(ended.custom_id)

        tasks = [asyncio.create_task(one(number)) for number in range(COUNT)]
        batch = asyncio.create_task(many())
        for how in (signal.SIGKILL, signal.SIGTERM):
            await asyncio.sleep(1)
            assert len(delivered) < COUNT, "nobody was left to wait"
            await asyncio.to_thread(end, server, how)
        submitted = await asyncio.gather(*tasks)
        await batch
    assert sorted(submitted) == sorted(delivered)
    return delivered, drained


def test_no_wait_is_lost_and_none_is_answered_twice() -> None:
    with postgres.database() as url, OwnServer(KERNEL_ENV_EVALUATOR="mock", DATABASE_URL=url) as server:
        delivered, drained = asyncio.run(wait_through(server))
    assert len(set(delivered)) == len(delivered) == COUNT
    assert sorted(map(int, drained)) == list(range(20))
