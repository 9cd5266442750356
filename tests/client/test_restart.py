"""The API is killed, then asked to end, in the middle of 200 waits: every result comes, each once."""

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_grader_client import AsyncKernelGrader, Item

from evaluator.verdicts import Verdict
from grading import jobs
from grading.events import Publisher
from launcher.ports import free_port
from tests.app.test_episodes import TASK, source
from tests.conftest import empty
from tests.grading.support import LEASES, open_slot, report
from tests.services.api_alone import end_api, start_api, url
from tests.services.broker import Broker
from tests.services.installation import Installation, Process, installation

COUNT, BATCH = 200, 20
KEPT = 60  # so many are graded only after the last restart, so that somebody is waiting however slow the machine is
GRADE_S = 0.02


@pytest.fixture
def here(postgres_url: str, broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    """An installation without a worker: the test is its one slot."""
    empty(postgres_url)
    with installation(postgres_url, broker, tmp_path, PORT=str(free_port())) as made:
        yield made


def restart(here: Installation, api: Process, how: signal.Signals) -> Process:
    """End the whole API and start another one."""
    end_api(api, how)
    return start_api(here)


def grade_all(here: Installation, restarted: threading.Event) -> None:
    """Claim and finish, one after another, until everything has been graded."""
    slot, publisher = open_slot(here.db), Publisher(here.settings.redis_url)
    done = 0
    while done < COUNT + BATCH:
        if done >= COUNT + BATCH - KEPT:
            assert restarted.wait(240)
        claim = jobs.claim(here.db, slot.id, slot.incarnation, LEASES)
        if claim is not None:
            verdict = Verdict.INCORRECT if claim.row.batch_id else Verdict.CORRECT
            ended = jobs.finish(here.db, claim.submission_id, claim.fence, report(verdict))
            publisher.ended(ended.submission)
            done += 1
        time.sleep(GRADE_S)


async def wait_through(here: Installation) -> tuple[list[str], list[str]]:
    """(ids that were waited for, custom ids of a batch), each as delivered."""
    delivered: list[str] = []
    drained: list[str] = []
    sent: list[str] = []
    api = await asyncio.to_thread(start_api, here)
    restarted = threading.Event()
    grading = asyncio.create_task(asyncio.to_thread(grade_all, here, restarted))
    async with AsyncKernelGrader(url(here), trust_env=False) as grader:

        async def one(number: int) -> str:
            submission = await grader.submit(source(f"correct eval_s=0.02\n# {number}"), task_id=TASK)
            sent.append(submission.id)
            delivered.append((await grader.wait(submission)).id)
            return submission.id

        async def many() -> None:
            items = [Item(str(number), source(f"incorrect\n# {number}"), task_id=TASK) for number in range(BATCH)]
            async for ended in grader.submit_many(items):
                assert ended.verdict == "incorrect"
                drained.append(ended.custom_id)

        tasks = [asyncio.create_task(one(number)) for number in range(COUNT)]
        batch = asyncio.create_task(many())
        for how, count in (signal.SIGKILL, COUNT // 2), (signal.SIGTERM, COUNT):
            while len(sent) < count:
                await asyncio.sleep(0.05)
            assert len(delivered) < COUNT, "nobody was left to wait"
            api = await asyncio.to_thread(restart, here, api, how)
        restarted.set()
        submitted = await asyncio.gather(*tasks)
        await batch
        await grading
    assert sorted(submitted) == sorted(delivered)
    return delivered, drained


def test_no_wait_is_lost_and_none_is_answered_twice(here: Installation) -> None:
    delivered, drained = asyncio.run(wait_through(here))
    assert len(set(delivered)) == len(delivered) == COUNT
    assert sorted(map(int, drained)) == list(range(BATCH))
