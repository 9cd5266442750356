"""Reading with coroutines: as `reading`, method by method."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from kernel_grader_client.connection import AsyncConnection
from kernel_grader_client.models import EpisodeState, Submission
from kernel_grader_client.records import Attempt, Leader, Meta, Queue, Run, Task, TaskDetail, Worker, record
from kernel_grader_client.resources import named, run_path, task_path

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kernel_grader_client.options import (
        EpisodeFilters,
        LeaderboardFilters,
        RewardMode,
        SubmissionFilters,
        TaskFilters,
    )


class AsyncReading:
    """The part of `AsyncKernelGrader` that changes nothing."""

    _connection: AsyncConnection

    async def submission(self, submission: Submission | str) -> Submission:
        """As it is now."""
        return Submission.from_json(await self._connection.get(f"/submissions/{named(submission)}"))

    async def code(self, submission: Submission | str) -> str:
        """The source as it was sent."""
        return str(await self._connection.get(f"/submissions/{named(submission)}/code"))

    async def log(self, submission: Submission | str) -> str:
        """The whole log of build and run."""
        return str(await self._connection.get(f"/submissions/{named(submission)}/log"))

    async def attempts(self, submission: Submission | str) -> list[Attempt]:
        """How each attempt ended."""
        found = await self._connection.get(f"/submissions/{named(submission)}/attempts")
        return [record(Attempt, row) for row in found["data"]]

    async def reward(
        self, submission: Submission | str, *, mode: RewardMode | None = None, partial_credit: bool | None = None
    ) -> float | None:
        """What it would be worth under another setting, from what was measured; None without a verdict."""
        params = {"mode": mode, "partial_credit": partial_credit}
        reward = (await self._connection.get(f"/submissions/{named(submission)}/reward", params))["reward"]
        return None if reward is None else float(reward)

    async def submissions(self, **filters: Unpack[SubmissionFilters]) -> AsyncIterator[Submission]:
        """Newest first."""
        async for row in self._connection.pages("/submissions", filters):
            yield Submission.from_json(row)

    async def episodes(self, **filters: Unpack[EpisodeFilters]) -> AsyncIterator[EpisodeState]:
        """Newest first, each with its history."""
        async for row in self._connection.pages("/episodes", filters):
            yield EpisodeState.from_json(row)

    async def tasks(self, **filters: Unpack[TaskFilters]) -> AsyncIterator[Task]:
        """By level and number."""
        async for row in self._connection.pages("/tasks", filters):
            yield record(Task, row)

    async def task(self, task_id: str) -> TaskDetail:
        """One task, with its reference source."""
        return record(TaskDetail, await self._connection.get(task_path(task_id)))

    async def leaderboard(self, task_id: str, **filters: Unpack[LeaderboardFilters]) -> list[Leader]:
        """The best correct verdicts, each source once, fastest first."""
        found = await self._connection.get(f"{task_path(task_id)}/leaderboard", filters)
        return [record(Leader, row) for row in found["data"]]

    async def run(self, run_id: str) -> Run:
        """Counts, verdict mix and rates."""
        return record(Run, await self._connection.get(run_path(run_id)))

    async def export(self, run_id: str) -> Iterator[dict[str, Any]]:
        """Everything of a run: a `run`, then each `episode` and `submission` with its source, told apart by `type`."""
        return map(json.loads, (await self._connection.get(f"{run_path(run_id)}/export")).splitlines())

    async def queue(self) -> Queue:
        """How much waits, how long it has waited, and how long the next would."""
        return record(Queue, await self._connection.get("/queue"))

    async def workers(self) -> list[Worker]:
        """Each GPU, with its health."""
        return [record(Worker, row) for row in (await self._connection.get("/workers"))["data"]]

    async def meta(self) -> Meta:
        """Versions, choices, limits and clocks."""
        return record(Meta, await self._connection.get("/meta"))

    async def alive(self) -> bool:
        """Whether the server answers; repeated, like everything, for as long as patience lasts."""
        return bool((await self._connection.get("/healthz"))["status"] == "ok")
