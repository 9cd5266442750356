"""`AsyncKernelGrader`: the client for programs with an event loop, such as trainers with many rollouts at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from kernel_grader_client import wire
from kernel_grader_client.aio_episode import AsyncEpisode
from kernel_grader_client.aio_reading import AsyncReading
from kernel_grader_client.connection import AsyncConnection
from kernel_grader_client.items import Ended, Item
from kernel_grader_client.models import EpisodeState, Submission
from kernel_grader_client.protocol import WAIT_S, Protocol, split
from kernel_grader_client.resources import named, run_path
from kernel_grader_client.steps import Patience

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kernel_grader_client.options import EpisodeOptions, OnFailure, SubmissionOptions


class AsyncKernelGrader(AsyncReading):
    """As `KernelGrader`, with coroutines. Hundreds of waits at once are fine."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        on_failure: OnFailure = "raise",
        patience_s: float = 600.0,
        wait_s: float = WAIT_S,
        **httpx_options: Any,
    ) -> None:
        http = httpx.AsyncClient(**{**wire.options(url, api_key), **httpx_options})
        self._protocol = Protocol(Patience(patience_s), wait_s)
        self._connection = AsyncConnection(http, self._protocol, on_failure)

    async def __aenter__(self) -> AsyncKernelGrader:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    # --- submissions

    async def submit(
        self,
        code: str,
        *,
        task_id: str | None = None,
        episode_id: str | None = None,
        **options: Unpack[SubmissionOptions],
    ) -> Submission:
        """Send a source, for a task on its own or for an episode's turn, and return at once."""
        body = {"code": code, "task_id": task_id, "episode_id": episode_id, **options}
        return await self._connection.run(self._protocol.submit(body))

    async def wait(self, submission: Submission | str, timeout_s: float | None = None) -> Submission:
        """Return it once it has ended, or as it is after `timeout_s`. Raises NotGraded by `on_failure`."""
        return self._connection.checked(await self._connection.run(self._protocol.wait(submission, timeout_s)))

    async def grade(
        self,
        code: str,
        *,
        task_id: str | None = None,
        episode_id: str | None = None,
        tries: int = 1,
        **options: Unpack[SubmissionOptions],
    ) -> Submission:
        """Submit and wait. Raises NotGraded by `on_failure`, after `tries` where the server sees hope."""
        body = {"code": code, "task_id": task_id, "episode_id": episode_id, **options}
        return self._connection.checked(await self._connection.run(self._protocol.grade(body, tries)))

    async def cancel(self, submission: Submission | str) -> Submission:
        """Stop it, waiting or running."""
        return Submission.from_json(await self._post(f"/submissions/{named(submission)}/cancel"))

    async def regrade(self, submission: Submission | str) -> Submission:
        """Have it graded once more, beside the old grade; needs a key with the scope `admin`."""
        return Submission.from_json(await self._post(f"/submissions/{named(submission)}/regrade"))

    async def submit_many(self, items: Sequence[Item], run_id: str | None = None) -> AsyncIterator[Ended]:
        """Send many in one batch (several where they are too many for one) and yield each as it ends, each once.

        Nothing is raised for an item: see `Ended`. Items that there was no room for are sent again.
        """
        ready: asyncio.Queue[Ended | None] = asyncio.Queue()

        async def drain_all() -> None:
            try:
                await asyncio.gather(*(self._drain(batch, run_id, ready) for batch in split(items)))
            finally:
                ready.put_nowait(None)

        draining = asyncio.create_task(drain_all())
        try:
            while (ended := await ready.get()) is not None:
                yield ended
            await draining
        finally:
            draining.cancel()

    async def _drain(self, items: Sequence[Item], run_id: str | None, ready: asyncio.Queue[Ended | None]) -> None:
        """One batch, and again what it had no room for, until all of it has ended."""
        started, left = time.monotonic(), list(items)
        while left:
            again: list[Item] = []
            problem = None
            by_name = {item.custom_id: item for item in left}
            async for ended in self.drain(await self.create_batch(left, run_id)):
                if ended.problem is not None and ended.problem.retryable:
                    problem = ended.problem
                    again.append(by_name[ended.custom_id])
                else:
                    ready.put_nowait(ended)
            if again:
                await self._connection.run(self._protocol.turned_away(started, problem))
            left = again

    async def create_batch(self, items: Sequence[Item], run_id: str | None = None) -> str:
        """Send up to 256 items and return at once: the id to `drain` it by, in another program if need be."""
        return await self._connection.run(self._protocol.create_batch(items, run_id))

    async def drain(self, batch_id: str) -> AsyncIterator[Ended]:
        """Every item of a batch as it ends, from the first one on, refused ones too."""
        cursor: str | None = "0"
        while cursor is not None:
            endings, cursor = await self._connection.run(self._protocol.next_endings(batch_id, cursor))
            for ended in endings:
                yield ended

    # --- episodes and runs

    async def episode(self, task_id: str | None = None, **options: Unpack[EpisodeOptions]) -> AsyncEpisode:
        """Open an episode for a task, or for one drawn from a split."""
        body = {"task_id": task_id, **options}
        return AsyncEpisode(self._connection, await self._connection.run(self._protocol.open_episode(body)))

    async def resume(self, episode_id: str) -> AsyncEpisode:
        """An episode that is there already."""
        return AsyncEpisode(self._connection, await self._connection.run(self._protocol.episode(episode_id)))

    async def step(
        self, episode: EpisodeState | str, code: str, *, tries: int = 1, **options: Unpack[SubmissionOptions]
    ) -> Submission:
        """Grade a source for an episode's present turn, for who keeps no `Episode`."""
        return await self.grade(code, episode_id=named(episode), tries=tries, **options)

    async def cancel_run(self, run_id: str) -> int:
        """End everything of a run; how many submissions that ended."""
        return int((await self._post(f"{run_path(run_id)}/cancel"))["cancelled"])

    async def _post(self, path: str) -> Any:
        return await self._connection.run(self._protocol.post(path))
