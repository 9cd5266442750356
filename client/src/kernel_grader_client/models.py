"""The server's objects as frozen records. What a newer server adds is kept in `raw` and otherwise ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_grader_client.errors import NotGraded
from kernel_grader_client.records import Json, record

UNFINISHED = frozenset({"queued", "compiling", "ready", "running"})


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
class Result:
    """What was found and measured; None where a grade did not get that far. Times in milliseconds."""

    correct: bool
    feedback: str
    max_abs_err: float | None
    error_ratio: float | None
    speedup: float | None
    speedup_ci95: Sequence[float] | None
    t_ref_ms: float | None
    t_new_ms: float | None
    t_ref_ieee_ms: float | None
    t_min_ms: float | None
    bound: str | None
    arithmetic_intensity: float | None
    roofline_frac: float | None
    ref_roofline_frac: float | None
    roofline_violation: bool
    suspicious: bool
    custom_kernel_share: float | None
    kernels: Sequence[Json]
    warnings: Sequence[str]
    raw: Json = field(repr=False)


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
    result: Result | None
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
            result=None if data["result"] is None else record(Result, data["result"]),
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
        return self.result.feedback if self.result else ""

    @property
    def speedup(self) -> float | None:
        """t_ref / t_new of a correct kernel."""
        return None if self.result is None else self.result.speedup

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
            history=tuple(Turn(**{name: turn[name] for name in Turn.__dataclass_fields__}) for turn in data["history"]),
            raw=data,
        )
