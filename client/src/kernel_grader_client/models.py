"""The server's objects as frozen records. What a newer server adds is kept in `raw` and otherwise ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_grader_client.errors import NotGraded, Problem, Refused, refused

UNFINISHED = frozenset({"queued", "compiling", "ready", "running"})

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Failure:
    """Why there is no verdict: the grader's fault, a deadline or a request to stop."""

    code: str
    title: str
    detail: str
    retryable: bool

    def __str__(self) -> str:
        return f"{self.title}: {self.detail} [{self.code}]"


@dataclass(frozen=True)
class Place:
    """Where a waiting submission stands; an estimate. `eta_s` may be unknown."""

    position: int
    eta_s: float | None


@dataclass(frozen=True)
class Submission:
    """A submission. `reward` is None, and never 0, unless there is a `verdict`."""

    id: str
    status: str
    verdict: str | None
    stage: str | None
    reward: float | None
    task_id: str
    episode_id: str | None
    turn: int | None
    attempt: int
    phase: str | None
    run_id: str | None
    custom_id: str | None
    labels: Mapping[str, str]
    code_sha: str
    place: Place | None
    failure: Failure | None
    result: Mapping[str, Any] | None
    environment: Mapping[str, Any] | None
    timings: Mapping[str, Any]
    raw: Json = field(repr=False)

    @classmethod
    def from_json(cls, data: Json) -> Submission:
        queue, error = data.get("queue"), data.get("error")
        return cls(
            id=data["id"],
            status=data["status"],
            verdict=data["verdict"],
            stage=data["stage"],
            reward=data["reward"],
            task_id=data["task_id"],
            episode_id=data["episode_id"],
            turn=data["turn"],
            attempt=data["attempt"],
            phase=data.get("phase"),
            run_id=data["run_id"],
            custom_id=data.get("custom_id"),
            labels=data["labels"],
            code_sha=data["code_sha"],
            place=None if queue is None else Place(queue["position"], queue["eta_s"]),
            failure=None
            if error is None
            else Failure(error["code"], error["title"], error["detail"], bool(error["retryable"])),
            result=data["result"],
            environment=data["environment"],
            timings=data["timings"],
            raw=data,
        )

    @property
    def finished(self) -> bool:
        """Whether it has ended, with a verdict or without."""
        return self.status not in UNFINISHED

    @property
    def graded(self) -> bool:
        """Whether there is a verdict, good or bad."""
        return self.verdict is not None

    @property
    def correct(self) -> bool:
        return self.verdict == "correct"

    @property
    def feedback(self) -> str:
        """What to tell whoever repairs the kernel; empty without a verdict."""
        return str(self.result["feedback"]) if self.result else ""

    @property
    def speedup(self) -> float | None:
        """t_ref / t_new of a correct kernel."""
        found = (self.result or {}).get("speedup")
        return None if found is None else float(found)

    def require_verdict(self) -> Submission:
        """Itself. Raises NotGraded where it ended without a verdict."""
        if self.finished and not self.graded:
            raise NotGraded(self)
        return self


@dataclass(frozen=True)
class Turn:
    """One verdict of an episode."""

    turn: int
    submission_id: str
    verdict: str
    stage: str
    reward: float
    speedup: float | None
    code_sha: str


@dataclass(frozen=True)
class EpisodeState:
    """An episode as the server has it. `problem` is the prompt; `turn` the one that the next verdict is for."""

    id: str
    status: str
    task_id: str
    split: str | None
    language: str
    problem: str
    turn: int
    max_turns: int
    done: bool
    best_speedup: float | None
    run_id: str | None
    labels: Mapping[str, str]
    history: tuple[Turn, ...]
    raw: Json = field(repr=False)

    @classmethod
    def from_json(cls, data: Json) -> EpisodeState:
        names = ("id", "status", "task_id", "split", "language", "problem", "turn", "max_turns", "done")
        return cls(
            **{name: data[name] for name in (*names, "best_speedup", "run_id", "labels")},
            history=tuple(
                Turn(**{name: turn[name] for name in Turn.__dataclass_fields__}) for turn in data["history"]
            ),
            raw=data,
        )


@dataclass(frozen=True)
class Item:
    """One source of a batch, for an episode's present turn or for a task on its own. None leaves a choice open."""

    custom_id: str
    code: str
    task_id: str | None = None
    episode_id: str | None = None
    turn: int | None = None
    language: str | None = None
    priority: str | None = None
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


__all__ = ["UNFINISHED", "Ended", "EpisodeState", "Failure", "Item", "Place", "Refused", "Submission", "Turn"]
