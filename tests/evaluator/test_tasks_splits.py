"""Splits keep twins together and stay as they were frozen."""

import hashlib
import json
from importlib import resources

import pytest

from evaluator.tasks.families import family_of
from evaluator.tasks.splits import as_split, split_of
from evaluator.tasks.task import TaskError, parse_task_id

STORED = json.loads(resources.files("evaluator.tasks").joinpath("splits.json").read_text())
LISTED = STORED["train"] + STORED["eval"]


def test_stored_list_is_whole_and_disjoint() -> None:
    assert len(LISTED) == len(set(LISTED)) == 270
    assert all(parse_task_id(task_id).task_id == task_id for task_id in LISTED)
    assert STORED["rationale"]


def test_stored_list_has_not_moved() -> None:
    digest = hashlib.sha256("\n".join(STORED["eval"]).encode()).hexdigest()
    assert digest[:16] == FROZEN, "results on eval stay comparable only while this list does not move"


def test_no_twins_straddle_the_splits() -> None:
    sides: dict[str, set[str]] = {}
    for split in ("train", "eval"):
        for task_id in STORED[split]:
            key = parse_task_id(task_id)
            sides.setdefault(family_of(key.level, key.name)[1], set()).add(split)
    assert [twins for twins, splits in sides.items() if len(splits) > 1] == []


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_every_level_gives_about_a_fifth_to_eval(level: int) -> None:
    of_level = [task_id for task_id in LISTED if task_id.startswith(f"level{level}/")]
    share = sum(task_id in STORED["eval"] for task_id in of_level) / len(of_level)
    assert 0.15 <= share <= 0.3


def test_unlisted_tasks_follow_their_twins_else_the_digest() -> None:
    assert split_of(parse_task_id("level1/201_ELU_with_alpha")) == split_of(parse_task_id("level1/31_ELU"))
    assert split_of(parse_task_id("level1/202_GELU_fast")) == split_of(parse_task_id("level1/26_GELU_"))
    unknown = [split_of(parse_task_id(f"level1/{n}_Novel{n}")) for n in range(1, 1001)]
    assert 150 <= unknown.count("eval") <= 250


def test_split_names() -> None:
    assert as_split("eval") == "eval"
    with pytest.raises(TaskError, match="train, eval"):
        as_split("test")


FROZEN = "e828dadc76ea73c5"
