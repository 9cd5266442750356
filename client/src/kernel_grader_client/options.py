"""What may be said about a submission, an episode or a list besides the main thing; for type checkers and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

Language = Literal["triton", "cuda"]
Priority = Literal["high", "normal", "low"]
Split = Literal["train", "eval"]
RewardMode = Literal["speedup", "roofline"]
OnFailure = Literal["raise", "none"]


class SubmissionOptions(TypedDict, total=False):
    """`gpu` is a kind of GPU; `turn` guards against sending one twice; `dedupe` reuses a verdict within the run."""

    language: Language | None
    turn: int | None
    priority: Priority | None
    gpu: str | None
    deadline_s: float | None
    dedupe: Literal["off", "run"] | None
    run_id: str | None
    labels: Mapping[str, str] | None


class EpisodeOptions(TypedDict, total=False):
    """Without a task one is drawn from `split`, the same for the same `seed`."""

    split: Split | None
    seed: int | None
    language: Language | None
    max_turns: int | None
    reward: RewardMode | None
    run_id: str | None
    labels: Mapping[str, str] | None


class SubmissionFilters(TypedDict, total=False):
    """All of them hold at once. `limit` is the size of a page: pages are fetched as you go."""

    ids: Sequence[str]
    run_id: str | None
    episode_id: str | None
    batch_id: str | None
    task_id: str | None
    status: str | Sequence[str] | None
    limit: int | None


class EpisodeFilters(TypedDict, total=False):
    """All of them hold at once. `limit` is the size of a page."""

    run_id: str | None
    task_id: str | None
    status: str | Sequence[str] | None
    limit: int | None


class TaskFilters(TypedDict, total=False):
    """All of them hold at once. `limit` is the size of a page."""

    level: int | None
    split: Split | None
    limit: int | None


class LeaderboardFilters(TypedDict, total=False):
    """`gpu` as `environment["gpu"]` of a submission has it; `limit` is how many there are at most."""

    run_id: str | None
    gpu: str | None
    limit: int | None
