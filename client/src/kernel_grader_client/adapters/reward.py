"""A plain reward function, as TRL's `reward_funcs` takes it: from a list of completions to a list of rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel_grader_client.adapters.grading import Completion, grade_all
from kernel_grader_client.client import KernelGrader


class KernelReward:
    """Call it with `completions` and the column `task_id`; other columns are ignored.

    `task_id` is for data sets without such a column; `item` is what else `Item` takes, such as `language` or `gpu`.
    """

    __name__ = "kernel_reward"  # by which trainers log it

    def __init__(
        self,
        grader: KernelGrader | None = None,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        tries: int = 3,
        **item: Any,
    ) -> None:
        self._grader = grader or KernelGrader(on_failure="none")
        self._task_id = task_id
        self._options = {"run_id": run_id, "tries": tries, **item}

    def __call__(
        self, completions: Sequence[Completion], task_id: Sequence[str] | str | None = None, **columns: Any
    ) -> list[float | None]:
        """Rewards in order; None, never 0, for what could not be graded. Raises Refused, Unavailable, ValueError."""
        tasks = task_id if task_id is not None else self._task_id
        if tasks is None:
            raise ValueError("which tasks? Give the data set a column task_id, or KernelReward a task_id")
        if isinstance(tasks, str):
            tasks = [tasks] * len(completions)
        return [ended.reward for ended in grade_all(self._grader, completions, tasks, **self._options)]
