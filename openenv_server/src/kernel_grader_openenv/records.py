"""What goes over the wire. All that a client needs is a field: openenv-core 0.3.0 drops `metadata`."""

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class KernelAction(Action):
    """A complete Python source that defines `ModelNew`."""

    code: str
    turn: int | None = Field(default=None, ge=1, description="Which turn it is for; guards against sending one twice.")


class KernelObservation(Observation):
    """What became of a reset or a step. `reward` is a number only where `outcome` is `graded`, else None and never 0.

    `outcome` is one of `reset`, `graded`, `not_graded`, `running`, `busy`, `unavailable`, `over`; see docs/trainers.md.
    `turn` is the one that the next source is for (the last one where the episode is done), `graded_turn` the one that
    this verdict used up. Times in milliseconds, or seconds where the name ends in `_s`.
    """

    outcome: str
    detail: str = Field(default="", description="What to do about an outcome that is neither reset nor graded.")
    episode_id: str
    task_id: str
    split: str | None = None
    language: str
    problem: str = Field(description="The prompt for the first turn.")
    prompt: str = Field(description="What to tell the policy before its next turn.")
    feedback: str = ""
    turn: int
    max_turns: int
    best_speedup: float | None = None
    submission_id: str | None = None
    code_sha: str | None = Field(default=None, description="12 hex digits of the SHA-1 of the source that was stepped.")
    graded_turn: int | None = None
    status: str | None = None
    stage: str | None = None
    verdict: str | None = None
    correct: bool | None = None
    speedup: float | None = None
    speedup_ci95: list[float] | None = None
    t_ref_ms: float | None = None
    t_new_ms: float | None = None
    t_min_ms: float | None = None
    bound: str | None = None
    roofline_frac: float | None = None
    ref_roofline_frac: float | None = None
    roofline_violation: bool | None = None
    suspicious: bool | None = None
    max_abs_err: float | None = None
    custom_kernel_share: float | None = None
    gpu: str | None = None
    gpu_id: str | None = None
    queue_wait_s: float | None = None
    eval_s: float | None = None
    error_code: str | None = None
    retryable: bool | None = None


class KernelState(State):
    """The episode as of the last answer; `step_count` is the number of verdicts."""

    task_id: str | None = None
    split: str | None = None
    language: str | None = None
    turn: int | None = None
    max_turns: int | None = None
    done: bool = False
    best_speedup: float | None = None
    history: list[dict[str, Any]] = Field(default_factory=list)
