"""The server's objects as frozen records. What a newer server adds is kept in `raw` and otherwise ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_grader_client.errors import NotGraded
from kernel_grader_client.records import Json, many, one, record

UNFINISHED = frozenset({"queued", "compiling", "ready", "running"})


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why there is no verdict: the grader's fault, a deadline or a request to stop."""

    code: str
    title: str
    detail: str
    retryable: bool

    def __str__(self) -> str:
        return f"{self.title}: {self.detail} [{self.code}]"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a waiting submission stands; an estimate. `eta_s` may be unknown."""

    position: int
    eta_s: float | None


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was found and measured; None where a grade did not get that far. Times in milliseconds.

    `rules` are the ids of the rules that a refused submission broke.
    """

    correct: bool
    feedback: str
    max_abs_err: float | None
    error_ratio: float | None
    speedup: float | None
    speedup_ci95: Sequence[float] | None
    t_ref_ms: float | None
    t_new_ms: float | None
    t_ref_ieee_ms: float | None
    pairs: int | None
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
    rules: Sequence[str] = ()
    raw: Json = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submission. `reward` is None, and never 0, unless there is a `verdict`."""

    id: str
    status: str
    verdict: str | None
    stage: str | None
    reward: float | None
    task_id: str
    language: str
    episode_id: str | None
    turn: int | None
    attempt: int
    phase: str | None
    priority: str
    gpu: str | None
    run_id: str | None
    batch_id: str | None
    custom_id: str | None
    labels: Mapping[str, str]
    code_sha: str
    deduped_from: str | None
    regrade_of: str | None
    place: Place | None = field(metadata=one(Place, key="queue"))
    failure: Failure | None = field(metadata=one(Failure, key="error"))
    result: Result | None = field(metadata=one(Result))
    environment: Mapping[str, Any] | None
    timings: Mapping[str, Any]
    created_at: str
    started_at: str | None
    finished_at: str | None
    deadline_at: str
    raw: Json = field(repr=False)

    @classmethod
    def from_json(cls, data: Json) -> Submission:
        return record(cls, data)

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


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One verdict of an episode."""

    turn: int
    submission_id: str
    verdict: str
    stage: str
    reward: float
    speedup: float | None
    roofline_frac: float | None
    roofline_violation: bool
    suspicious: bool
    gpu_id: str | None
    queue_wait_s: float | None
    eval_s: float | None
    code_sha: str
    phases: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class EpisodeState:
    """An episode as the server has it; `turn` is the one that the next verdict is for.

    `problem` is the prompt, and `next_prompt` what to tell the policy before its next turn, None before the first
    verdict and after the last turn. `reward` is the mode in which it is paid.
    """

    id: str
    status: str
    task_id: str
    split: str | None
    seed: int | None
    language: str
    problem: str
    turn: int
    max_turns: int
    done: bool
    best_speedup: float | None
    reward: str
    run_id: str | None
    labels: Mapping[str, str]
    history: tuple[Turn, ...] = field(metadata=many(Turn))
    next_prompt: str | None = None
    created_at: str
    finished_at: str | None
    raw: Json = field(repr=False)

    @classmethod
    def from_json(cls, data: Json) -> EpisodeState:
        return record(cls, data)
