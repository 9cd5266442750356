"""Which split a task belongs to: a stored list first, then a rule that keeps twins together."""

import hashlib
import json
from functools import cache
from importlib import resources

from evaluator.tasks.families import family_of
from evaluator.tasks.task import SPLITS, Split, TaskError, TaskKey, parse_task_id

EVAL_FRAC = 0.2


def split_of(key: TaskKey) -> Split:
    """The split of any task, listed or not.

    Unlisted: the split of its listed twins, else `eval` for a fifth of all twin groups, by the digest of their name.
    """
    listed, by_twins = _stored()
    if key.task_id in listed:
        return listed[key.task_id]
    twins = family_of(key.level, key.name)[1]
    if twins in by_twins:
        return by_twins[twins]
    return "eval" if _digest(twins) < EVAL_FRAC * 2**64 else "train"


def as_split(text: str) -> Split:
    """Raises TaskError for anything but a split's name."""
    if text not in SPLITS:
        raise TaskError(f"split: one of {', '.join(SPLITS)}, not {text[:40]!r}")
    return text


@cache
def _stored() -> tuple[dict[str, Split], dict[str, Split]]:
    data = json.loads(resources.files("evaluator.tasks").joinpath("splits.json").read_text())
    listed = {task_id: split for split in SPLITS for task_id in data[split]}
    by_twins: dict[str, Split] = {}
    for task_id, split in listed.items():
        key = parse_task_id(task_id)
        by_twins.setdefault(family_of(key.level, key.name)[1], split)
    return listed, by_twins


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
