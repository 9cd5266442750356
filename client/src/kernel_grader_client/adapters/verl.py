"""verl's custom reward functions: `compute_score` for one sample, `compute_scores` for its batch reward manager.

verl has no reward that means "leave this sample out". So what could not be graded, after three tries, raises NotGraded:
training stops, where a made-up number would go on unnoticed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from kernel_grader_client.adapters.grading import grade_all
from kernel_grader_client.client import KernelGrader


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **options: Any
) -> float:
    """The reward of one completion, for the task `extra_info["task_id"]`, or `ground_truth` where there is none."""
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], **options)[0]


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None],
    **options: Any,
) -> list[float]:
    """The rewards of a step, graded at once. `options` are `run_id`, `tries` and what else `Item` takes.

    Raises NotGraded, Refused, Unavailable; ValueError where no task is named.
    """
    tasks = [_task_id(info, truth) for info, truth in zip(extra_infos, ground_truths, strict=True)]
    endings = grade_all(_grader(), solution_strs, tasks, **options)
    rewards = [ended.require_verdict().reward for ended in endings]
    return [reward for reward in rewards if reward is not None]  # all of them: each has a verdict


def _task_id(extra_info: Mapping[str, Any] | None, ground_truth: Any) -> str:
    named = (extra_info or {}).get("task_id") or ground_truth
    if not isinstance(named, str) or not named:
        raise ValueError('which task? Put its id into extra_info["task_id"] or into ground_truth')
    return named


@functools.cache
def _grader() -> KernelGrader:
    """One per process, at KERNEL_GRADER_URL."""
    return KernelGrader(on_failure="none")
