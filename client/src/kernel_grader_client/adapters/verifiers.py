"""verifiers: a group reward for its rubrics (up to 0.1), and the reward of one rollout for its tasks (since 0.2).

A rubric takes a failed call for rewards of 0 and knows no None. So a rollout that could not be graded is given the mean
of those of its group that were: its advantage is 0, and it moves nobody's baseline.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from typing import Any

from kernel_grader_client.adapters.grading import Completion, grade_all
from kernel_grader_client.client import KernelGrader
from kernel_grader_client.errors import KernelGraderError


class GroupReward:
    """For `Rubric(funcs=[GroupReward(...)])`. Tasks are named by `info["task_id"]`, or by `answer`.

    Leaves in each state `kernel_verdict`, and `kernel_graded`, which is False where a reward is filled in.
    """

    __name__ = "kernel_reward"

    def __init__(self, grader: KernelGrader | None = None, *, run_id: str | None = None, **options: Any) -> None:
        self._grader = grader or KernelGrader(on_failure="none")
        self._options = {"run_id": run_id, **options}

    async def __call__(
        self,
        completions: Sequence[Completion],
        states: Sequence[MutableMapping[str, Any]],
        infos: Sequence[Any],
        answers: Sequence[str],
    ) -> list[float]:
        """Rewards in order. Raises KernelGraderError where none of the group could be graded."""
        tasks = [_task_id(info, answer) for info, answer in zip(infos, answers, strict=True)]
        endings = await asyncio.to_thread(grade_all, self._grader, completions, tasks, **self._options)
        graded = [ended.reward for ended in endings if ended.reward is not None]
        if not graded:
            raise KernelGraderError("none of this group could be graded")
        for state, ended in zip(states, endings, strict=True):
            state["kernel_verdict"], state["kernel_graded"] = ended.verdict, ended.reward is not None
        mean = sum(graded) / len(graded)
        return [mean if ended.reward is None else ended.reward for ended in endings]


async def reward(grader: KernelGrader, completion: Completion, task_id: str, **options: Any) -> float:
    """Of one rollout: for a task's own `@vf.reward`, which leaves out what raises. Raises NotGraded, Refused."""
    (ended,) = await asyncio.to_thread(grade_all, grader, [completion], [task_id], **options)
    found = ended.require_verdict().reward
    assert found is not None  # there is a verdict
    return found


def _task_id(info: Any, answer: str) -> str:
    named = info.get("task_id") if isinstance(info, dict) else None
    if not (named or answer):
        raise ValueError('which task? Put its id into info["task_id"] or into answer')
    return str(named or answer)
