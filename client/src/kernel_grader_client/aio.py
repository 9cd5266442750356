"""`AsyncKernelGrader`: the client for programs with an event loop, such as trainers with many rollouts at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from kernel_grader_client import resources, wire
from kernel_grader_client.client import OnFailure
from kernel_grader_client.models import Ended, EpisodeState, Item, Submission
from kernel_grader_client.protocol import WAIT_S, Protocol, split
from kernel_grader_client.steps import Call, Patience, Pause, Reply, Steps

T = TypeVar("T")


class AsyncKernelGrader:
    """As `KernelGrader`, with coroutines. Hundreds of waits at once are fine."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        api_key: str | None = None,
        *,
        on_failure: OnFailure = "raise",
        patience_s: float = 600.0,
        wait_s: float = WAIT_S,
        **httpx_options: Any,
    ) -> None:
        self._http = httpx.AsyncClient(**{**wire.options(url, api_key), **httpx_options})
        self._protocol = Protocol(Patience(patience_s), wait_s)
        self._on_failure = on_failure

    async def __aenter__(self) -> AsyncKernelGrader:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    # --- submissions

    async def submit(self, code: str, *, task_id: str | None = None, **more: Any) -> Submission:
        """Send a source and return at once; `more` are fields of the request, such as `episode_id` or `priority`."""
        return await self._run(self._protocol.submit({"code": code, "task_id": task_id, **more}))

    async def wait(self, submission: Submission | str, timeout_s: float | None = None) -> Submission:
        """Return it once it has ended, or as it is after `timeout_s`. Raises NotGraded by `on_failure`."""
        return self._checked(await self._run(self._protocol.wait(submission, timeout_s)))

    async def grade(self, code: str, *, task_id: str | None = None, tries: int = 1, **more: Any) -> Submission:
        """Submit and wait. Raises NotGraded by `on_failure`, after `tries` where the server sees hope."""
        steps = self._protocol.grade({"code": code, "task_id": task_id, **more}, tries)
        return self._checked(await self._run(steps))

    async def submission(self, submission_id: str) -> Submission:
        """As it is now."""
        return Submission.from_json(await self._get(f"/submissions/{submission_id}"))

    async def cancel(self, submission: Submission | str) -> Submission:
        """Stop it, waiting or running."""
        name = submission if isinstance(submission, str) else submission.id
        return Submission.from_json(await self._run(self._protocol.post(f"/submissions/{name}/cancel")))

    async def code(self, submission_id: str) -> str:
        return str(await self._get(f"/submissions/{submission_id}/code"))

    async def log(self, submission_id: str) -> str:
        return str(await self._get(f"/submissions/{submission_id}/log"))

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
            batch_id = await self._run(self._protocol.create_batch(left, run_id))
            cursor: str | None = "0"
            while cursor is not None:
                endings, cursor = await self._run(self._protocol.next_endings(batch_id, cursor))
                for ended in endings:
                    if ended.problem is not None and ended.problem.retryable:
                        problem = ended.problem
                        again.append(by_name[ended.custom_id])
                    else:
                        ready.put_nowait(ended)
            if again:
                await self._run(self._protocol.turned_away(started, problem))
            left = again

    # --- episodes and runs

    async def episode(self, task_id: str | None = None, **more: Any) -> AsyncEpisode:
        """Open an episode; `more`: split, seed, language, max_turns, reward, run_id, labels."""
        return AsyncEpisode(self, await self._run(self._protocol.open_episode({"task_id": task_id, **more})))

    async def resume(self, episode_id: str) -> AsyncEpisode:
        """An episode that is there already."""
        return AsyncEpisode(self, await self._run(self._protocol.episode(episode_id)))

    async def cancel_run(self, run_id: str) -> int:
        """End everything of a run; how many submissions that ended."""
        return int((await self._run(self._protocol.post(f"{resources.run_path(run_id)}/cancel")))["cancelled"])

    async def run(self, run_id: str) -> dict[str, Any]:
        """Counts, verdict mix and rates."""
        return dict(await self._get(resources.run_path(run_id)))

    # --- lists and the server itself

    async def episodes(self, **filters: Any) -> AsyncIterator[EpisodeState]:
        async for row in self._pages("/episodes", filters):
            yield EpisodeState.from_json(row)

    async def submissions(self, **filters: Any) -> AsyncIterator[Submission]:
        async for row in self._pages("/submissions", filters):
            yield Submission.from_json(row)

    def tasks(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        return self._pages("/tasks", filters)

    async def task(self, task_id: str) -> dict[str, Any]:
        return dict(await self._get(resources.task_path(task_id)))

    async def leaderboard(self, task_id: str, **filters: Any) -> list[dict[str, Any]]:
        return list((await self._get(f"{resources.task_path(task_id)}/leaderboard", filters))["data"])

    async def queue(self) -> dict[str, Any]:
        return dict(await self._get("/queue"))

    async def workers(self) -> list[dict[str, Any]]:
        return list((await self._get("/workers"))["data"])

    async def meta(self) -> dict[str, Any]:
        return dict(await self._get("/meta"))

    # --- how it is done

    def _checked(self, submission: Submission) -> Submission:
        return submission.require_verdict() if self._on_failure == "raise" else submission

    async def _get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self._run(self._protocol.get(path, params))

    async def _pages(self, path: str, filters: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            rows, cursor = await self._run(resources.page(self._protocol, path, filters, cursor))
            for row in rows:
                yield row
            if cursor is None:
                return

    async def _run(self, steps: Steps[T]) -> T:
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(await self._do(wanted))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _do(self, wanted: Call | Pause) -> Reply:
        if isinstance(wanted, Pause):
            await asyncio.sleep(wanted.seconds)
            return Reply()
        try:
            return wire.reply(await self._http.request(**wire.arguments(wanted)))
        except httpx.TransportError as error:
            return Reply(error=error)


class AsyncEpisode:
    """An open episode. `state` is what the server last said."""

    def __init__(self, grader: AsyncKernelGrader, state: EpisodeState) -> None:
        self._grader = grader
        self.state = state

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def problem(self) -> str:
        """The prompt for the policy."""
        return self.state.problem

    @property
    def done(self) -> bool:
        return self.state.done

    async def step(self, code: str, *, tries: int = 1, **more: Any) -> Submission:
        """Grade a source for the present turn. Without a verdict the turn is not used up; see `on_failure`."""
        body = {"code": code, "episode_id": self.id, "turn": self.state.turn, **more}
        submission = await self._grader._run(self._grader._protocol.grade(body, tries))
        await self.refresh()
        return self._grader._checked(submission)

    async def refresh(self) -> EpisodeState:
        """Ask the server for the present state."""
        self.state = await self._grader._run(self._grader._protocol.episode(self.id))
        return self.state

    async def cancel(self) -> EpisodeState:
        """End it and cancel what it has in flight."""
        self.state = EpisodeState.from_json(
            await self._grader._run(self._grader._protocol.post(f"/episodes/{self.id}/cancel"))
        )
        return self.state
