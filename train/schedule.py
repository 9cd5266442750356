"""Which tasks come in which update."""

from __future__ import annotations

import random
from collections.abc import Sequence

from train.tasks import Stage


def rows(stages: Sequence[Stage], updates: int, tasks_per_update: int, seed: int) -> list[str]:
    """The task ids of all updates, in order: the updates are divided evenly among the stages, earlier ones first.

    Within a stage its tasks come in rounds, each in an order drawn by `seed`.
    """
    stages = [stage for stage in stages if stage.task_ids]
    drawn = random.Random(seed)
    found: list[str] = []
    for number, stage in enumerate(stages):
        share = updates * (number + 1) // len(stages) - updates * number // len(stages)
        ids: list[str] = []
        while len(ids) < share * tasks_per_update:
            ids += drawn.sample(stage.task_ids, len(stage.task_ids))
        found += ids[: share * tasks_per_update]
    return found
