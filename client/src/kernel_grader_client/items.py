"""Batches: what goes into one, and what comes of each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel_grader_client.errors import Problem, refused
from kernel_grader_client.models import Submission
from kernel_grader_client.options import Language, Priority


@dataclass(frozen=True)
class Item:
    """One source of a batch, for an episode's present turn or for a task on its own. None leaves a choice open."""

    custom_id: str
    code: str
    task_id: str | None = None
    episode_id: str | None = None
    turn: int | None = None
    language: Language | None = None
    priority: Priority | None = None
    gpu: str | None = None
    deadline_s: float | None = None
    dedupe: str | None = None
    run_id: str | None = None
    labels: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Ended:
    """What became of one item of a batch: a submission that has ended, or a refusal."""

    custom_id: str
    submission: Submission | None
    problem: Problem | None

    @property
    def reward(self) -> float | None:
        """None, and never 0, where there is no verdict."""
        return None if self.submission is None else self.submission.reward

    @property
    def verdict(self) -> str | None:
        return None if self.submission is None else self.submission.verdict

    def require_verdict(self) -> Submission:
        """The submission. Raises Refused or NotGraded where there is no verdict."""
        if self.problem is not None:
            raise refused(self.problem)
        assert self.submission is not None
        return self.submission.require_verdict()
