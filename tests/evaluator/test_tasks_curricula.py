"""Curricula are read strictly, hold nothing of the split eval, and load no torch."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.tasks import Catalogue
from evaluator.tasks.curricula import CurriculumError, load, shipped_names
from evaluator.tasks.splits import split_of
from evaluator.tasks.task import parse_task_id

OWN = Path(__file__).parents[2] / "kernelbench_tasks"
GOOD = {"name": "mine", "rationale": "because", "stages": [{"name": "one", "task_ids": ["level1/19_ReLU"]}]}


def stage(**change: Any) -> dict[str, Any]:
    return {**GOOD, "stages": [{**GOOD["stages"][0], **change}]}  # type: ignore[dict-item]


def written(folder: Path, data: Any) -> Path:
    path = folder / "curriculum.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    found = load(written(tmp_path, GOOD))
    assert (found.name, found.rationale, found.task_ids) == ("mine", "because", ("level1/19_ReLU",))


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_ones_are_for_training(name: str) -> None:
    found = load(name)
    assert found.name == name
    assert {split_of(parse_task_id(task_id)) for task_id in found.task_ids} == {"train"}
    assert sum(len(stage.task_ids) for stage in found.stages) == len(found.task_ids), "a task is in two stages"


def test_first_steps_are_all_there_without_a_checkout() -> None:
    catalogue = Catalogue(OWN)
    assert all(catalogue.servable(task_id).split == "train" for task_id in load("first_steps").task_ids)
    assert set(load("first_steps").task_ids) == {task.task_id for task in catalogue.list(split="train")}


EVAL_TASK = Catalogue(OWN).list(split="eval")[0].task_id


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("{", "not JSON"),
        ([], "exactly the keys name, rationale, stages"),
        ({**GOOD, "more": 1}, "exactly the keys"),
        ({**GOOD, "stages": []}, "stages: a list"),
        ({**GOOD, "name": ""}, "name: a text"),
        (stage(task_ids=[]), r"stages\[0\].task_ids: a list"),
        (stage(task_ids=["19_ReLU"]), "looks like level1/19_ReLU"),
        (stage(task_ids=["level1/19_ReLU", "level1/19_ReLU"]), "stands there twice"),
        (stage(task_ids=[EVAL_TASK]), f"{EVAL_TASK} is of the split eval"),
        (stage(task_ids=["level2/80_Gemm_Max_Subtract_GELU"]), "fails its audit|split eval"),
        (stage(name=3), r"stages\[0\].name: a text"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, data: Any, says: str) -> None:
    with pytest.raises(CurriculumError, match=says) as caught:
        load(written(tmp_path, data))
    assert "curriculum.json" in str(caught.value)


def test_a_name_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CurriculumError, match="first_steps"):
        load("no_such_curriculum")


def test_a_trainer_needs_no_torch() -> None:
    code = (
        "import sys; from evaluator.tasks.curricula import load; load('first_steps'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=OWN.parent, check=False).returncode == 0
