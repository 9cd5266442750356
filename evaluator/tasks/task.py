"""What a task is, and how its id is spelled."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from evaluator.tasks.audits.record import Audit
from evaluator.tasks.kinds import Kind
from evaluator.tasks.special_inputs import NOTHING_SPECIAL, SpecialInputs

Device = Literal["cpu", "cuda"]
Split = Literal["train", "eval"]
SPLITS: tuple[Split, ...] = ("train", "eval")

_TASK_ID = re.compile(
    r"level(?P<level>[1-9][0-9]?)/(?P<number>[1-9][0-9]{0,4})_(?P<name>[A-Za-z0-9_.\-]{1,160})", re.ASCII
)


class TaskError(Exception):
    """Something about tasks that the caller can repair."""


class TaskSetError(TaskError):
    """The folder that should hold the tasks does not."""


class BadTaskId(TaskError):
    """The text is not spelled like a task id."""


class UnknownTask(TaskError):
    """No such task in this catalogue."""


class UnsupportedTask(TaskError):
    """The task exists but cannot be served; the message says why."""


@dataclass(frozen=True, order=True)
class TaskKey:
    """A task id taken apart; the order of keys is the order of every listing."""

    level: int
    number: int
    name: str

    @property
    def task_id(self) -> str:
        return f"level{self.level}/{self.number}_{self.name}"


def parse_task_id(task_id: str) -> TaskKey:
    """Take `level1/19_ReLU` apart. Raises BadTaskId for anything else, such as paths with `..`."""
    match = _TASK_ID.fullmatch(task_id)
    if match is None:
        raise BadTaskId(f"a task id looks like level1/19_ReLU, not {task_id[:80]!r}")
    return TaskKey(int(match["level"]), int(match["number"]), match["name"])


@dataclass(frozen=True)
class Task:
    """One reference: the file's text and what is known of it without running it.

    `family` groups operators of one kind and `twins` those so alike that they share a split. A task with `problems`
    is listed and never served. `sha256` is that of the text as a GPU gets it, `audit` what an audit of that text found,
    `special` what the task is held to, of which `namesake` comes from the audited task of the same name.
    """

    task_id: str
    level: int
    number: int
    name: str
    source: str
    path: Path
    family: str
    twins: str
    split: Split
    problems: tuple[str, ...] = ()
    cpu_sizes: dict[str, object] = field(default_factory=dict)
    kind: Kind = field(default_factory=Kind)
    sha256: str = ""
    audit: Audit | None = None
    special: SpecialInputs = NOTHING_SPECIAL
    namesake: SpecialInputs = NOTHING_SPECIAL

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.level, self.number, self.name)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why nothing is graded on it; empty for a task that is served.

        An audit that failed keeps a task out of training; for evaluation it is served, with what was found.
        """
        if self.problems or self.split != "train" or self.audit is None:
            return self.problems
        return tuple(f"fails its audit: {failure}" for failure in self.audit.failures)

    @property
    def supported(self) -> bool:
        return not self.reasons
