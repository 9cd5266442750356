"""Which tasks are trained on: a file of ids, in stages, none of them held out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_grader_client import KernelGrader, Task

NAMED = 5  # so many ids of a kind are named in an error


class TaskFileError(ValueError):
    """The file cannot be trained on; the text names it, what is wrong and what to do."""


@dataclass(frozen=True)
class Stage:
    """Tasks that are trained on together."""

    name: str
    task_ids: tuple[str, ...]


def training_stages(path: Path, grader: KernelGrader) -> tuple[Stage, ...]:
    """The stages of a task file, checked against the server's catalogue. Raises TaskFileError.

    The file is a curriculum in JSON (`{"stages": [{"name": …, "task_ids": […]}]}`), a JSON list of ids, or a text with
    an id per line; `#` begins a comment.
    """
    stages = read_stages(path)
    check(path, stages, {task.id: task for task in grader.tasks(limit=200)})
    return stages


def read_stages(path: Path) -> tuple[Stage, ...]:
    """As the file has them, unchecked. Raises TaskFileError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFileError(f"{path}: cannot be read: {error}") from None
    stages = _from_json(path, text) if text.lstrip()[:1] in ("{", "[") else (Stage(path.stem, _lines(text)),)
    if not any(stage.task_ids for stage in stages):
        raise TaskFileError(f"{path}: names no task; write an id per line, such as level1/19_ReLU")
    return stages


def check(path: Path, stages: Sequence[Stage], catalogue: Mapping[str, Task]) -> None:
    """Refuse what is unknown, held out, or not taken by the server. Raises TaskFileError."""
    ids = list(dict.fromkeys(task_id for stage in stages for task_id in stage.task_ids))
    known = [catalogue[task_id] for task_id in ids if task_id in catalogue]
    problems = [
        ("are held out (split eval) and never trained on", [task.id for task in known if task.split == "eval"]),
        ("are not in the server's catalogue (GET /tasks)", [task_id for task_id in ids if task_id not in catalogue]),
        ("are not served (see `problems` of GET /tasks/ID)", [task.id for task in known if not task.supported]),
    ]
    told = [f"{_some(found)} {what}: remove them" for what, found in problems if found]
    if told:
        raise TaskFileError(f"{path}: {'; '.join(told)}")


def _from_json(path: Path, text: str) -> tuple[Stage, ...]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise TaskFileError(f"{path}: not JSON: {error}") from None
    stages = [{"name": path.stem, "task_ids": data}] if isinstance(data, list) else data.get("stages")
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise TaskFileError(f"{path}: stages: a list of objects with name and task_ids")
    return tuple(_stage(path, number, stage) for number, stage in enumerate(stages))


def _stage(path: Path, number: int, data: Mapping[str, Any]) -> Stage:
    name, ids = data.get("name", f"stage {number + 1}"), data.get("task_ids")
    if not isinstance(name, str):
        raise TaskFileError(f"{path}: stages[{number}].name: a text")
    if not isinstance(ids, list) or not all(isinstance(task_id, str) for task_id in ids):
        raise TaskFileError(f"{path}: stages[{number}].task_ids: a list of task ids")
    return Stage(name, tuple(ids))


def _lines(text: str) -> tuple[str, ...]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more
