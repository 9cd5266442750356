"""Reads a curriculum, and refuses what nobody may train on: tasks of the split `eval`, and those that fail an audit."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from evaluator.tasks.audits.store import shipped
from evaluator.tasks.splits import split_of
from evaluator.tasks.task import BadTaskId, TaskError, parse_task_id


class CurriculumError(TaskError):
    """The file cannot be used; the text names it, the place in it and what belongs there."""


@dataclass(frozen=True)
class Stage:
    """Tasks that are trained on together."""

    name: str
    task_ids: tuple[str, ...]


@dataclass(frozen=True)
class Curriculum:
    """Stages in the order in which they come."""

    name: str
    rationale: str
    stages: tuple[Stage, ...]

    @property
    def task_ids(self) -> tuple[str, ...]:
        """All tasks in order, each once."""
        return tuple(dict.fromkeys(task_id for stage in self.stages for task_id in stage.task_ids))


def load(name_or_path: str | Path) -> Curriculum:
    """One of `shipped_names`, or a JSON file. Raises CurriculumError."""
    if isinstance(name_or_path, str) and name_or_path in shipped_names():
        text, where = _folder().joinpath(f"{name_or_path}.json").read_text(encoding="utf-8"), name_or_path
    else:
        where = str(name_or_path)
        try:
            text = Path(name_or_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            names = ", ".join(shipped_names())
            raise CurriculumError(f"{where}: no file that can be read, and none of {names} ({error})") from None
    try:
        data = json.loads(text)
    except ValueError as error:
        raise CurriculumError(f"{where}: not JSON: {error}") from None
    return _curriculum(data, where)


def shipped_names() -> tuple[str, ...]:
    """Curricula that come with the code."""
    return tuple(sorted(item.name.removesuffix(".json") for item in _folder().iterdir() if item.name.endswith(".json")))


def _folder() -> Any:
    return resources.files("evaluator.tasks.curricula")


def _curriculum(data: Any, where: str) -> Curriculum:
    keys = {"name", "rationale", "stages"}
    if not isinstance(data, dict) or set(data) != keys:
        raise CurriculumError(f"{where}: an object with exactly the keys {', '.join(sorted(keys))}")
    if not isinstance(data["stages"], list) or not data["stages"]:
        raise CurriculumError(f"{where}: stages: a list with one stage at the least")
    stages = tuple(_stage(item, f"{where}: stages[{i}]") for i, item in enumerate(data["stages"]))
    return Curriculum(_text(data["name"], f"{where}: name"), _text(data["rationale"], f"{where}: rationale"), stages)


def _stage(data: Any, where: str) -> Stage:
    if not isinstance(data, dict) or set(data) != {"name", "task_ids"}:
        raise CurriculumError(f"{where}: an object with exactly the keys name, task_ids")
    ids = data["task_ids"]
    if not isinstance(ids, list) or not ids or not all(isinstance(task_id, str) for task_id in ids):
        raise CurriculumError(f"{where}.task_ids: a list of task ids, one at the least")
    if problems := list(_problems(ids)):
        raise CurriculumError(f"{where}.task_ids: {'; '.join(problems)}")
    return Stage(_text(data["name"], f"{where}.name"), tuple(ids))


def _problems(ids: list[str]) -> Iterator[str]:
    failed = {audit.task_id: audit.failures[0] for audit in shipped() if not audit.passed}
    for at, task_id in enumerate(ids):
        try:
            key = parse_task_id(task_id)
        except BadTaskId as error:
            yield str(error)
            continue
        if task_id in ids[:at]:
            yield f"{task_id} stands there twice"
        if split_of(key) == "eval":
            yield f"{task_id} is of the split eval, which is never trained on"
        if task_id in failed:
            yield f"{task_id} fails its audit: {failed[task_id]}"


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise CurriculumError(f"{where}: a text")
    return value
