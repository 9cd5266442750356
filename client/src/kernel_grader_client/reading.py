"""Reading what there is: lists that fetch their pages as you go, single objects, and the server itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kernel_grader_client.connection import Connection
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


class Reading:
    """The part of `KernelGrader` that changes nothing."""

    _connection: Connection

    def submission(self, submission: Submission | str) -> Submission:
        """As it is now."""
        return Submission.from_json(self._connection.get(f"/submissions/{named(submission)}"))

    def code(self, submission: Submission | str) -> str:
        """The source as it was sent."""
        return str(self._connection.get(f"/submissions/{named(submission)}/code"))

    def log(self, submission: Submission | str) -> str:
        """The whole log of build and run."""
        return str(self._connection.get(f"/submissions/{named(submission)}/log"))

    def attempts(self, submission: Submission | str) -> list[Attempt]:
        """How each attempt ended."""
        found = self._connection.get(f"/submissions/{named(submission)}/attempts")
        return [record(Attempt, row) for row in found["data"]]

    def reward(
        self, submission: Submission | str, *, mode: RewardMode | None = None, partial_credit: bool | None = None
    ) -> float | None:
        """What it would be worth under another setting, from what was measured; None without a verdict."""
        params = {"mode": mode, "partial_credit": partial_credit}
        reward = self._connection.get(f"/submissions/{named(submission)}/reward", params)["reward"]
        return None if reward is None else float(reward)

    def submissions(self, **filters: Unpack[SubmissionFilters]) -> Iterator[Submission]:
        """Newest first."""
        return map(Submission.from_json, self._connection.pages("/submissions", filters))

    def episodes(self, **filters: Unpack[EpisodeFilters]) -> Iterator[EpisodeState]:
        """Newest first, each with its history."""
        return map(EpisodeState.from_json, self._connection.pages("/episodes", filters))

    def tasks(self, **filters: Unpack[TaskFilters]) -> Iterator[Task]:
        """By level and number."""
        return (record(Task, row) for row in self._connection.pages("/tasks", filters))

    def task(self, task_id: str) -> TaskDetail:
        """One task, with its reference source."""
        return record(TaskDetail, self._connection.get(task_path(task_id)))

    def leaderboard(self, task_id: str, **filters: Unpack[LeaderboardFilters]) -> list[Leader]:
        """The best correct verdicts, each source once, fastest first."""
        found = self._connection.get(f"{task_path(task_id)}/leaderboard", filters)
        return [record(Leader, row) for row in found["data"]]

    def run(self, run_id: str) -> Run:
        """Counts, verdict mix and rates."""
        return record(Run, self._connection.get(run_path(run_id)))

    def export(self, run_id: str) -> Iterator[dict[str, Any]]:
        """Everything of a run: a `run`, then each `episode` and `submission` with its source, told apart by `type`."""
        return map(json.loads, self._connection.get(f"{run_path(run_id)}/export").splitlines())

    def queue(self) -> Queue:
        """How much waits, how long it has waited, and how long the next would."""
        return record(Queue, self._connection.get("/queue"))

    def workers(self) -> list[Worker]:
        """Each GPU, with its health."""
        return [record(Worker, row) for row in self._connection.get("/workers")["data"]]

    def meta(self) -> Meta:
        """Versions, choices, limits and clocks."""
        return record(Meta, self._connection.get("/meta"))

    def alive(self) -> bool:
        """Whether the server answers; repeated, like everything, for as long as patience lasts."""
        return bool(self._connection.get("/healthz")["status"] == "ok")
