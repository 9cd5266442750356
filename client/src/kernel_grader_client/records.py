"""What the server tells about tasks, runs, leaders and itself, as frozen records; `raw` is the whole object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

Json = Mapping[str, Any]
Record = TypeVar("Record")


def record(kind: type[Record], data: Json) -> Record:
    """A record of this kind. What a newer server adds is found in `raw` alone."""
    names = [each.name for each in fields(kind) if each.name != "raw"]  # type: ignore[arg-type]
    make: Callable[..., Record] = kind
    return make(**{name: data[name] for name in names}, raw=data)


@dataclass(frozen=True)
class Task:
    """One task of the catalogue; `supported` says whether submissions are taken for it."""

    id: str
    level: int
    number: int
    name: str
    split: str
    family: str
    supported: bool
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class TaskDetail(Task):
    """A task with its reference and what else its kernels are checked on."""

    source: str = field(repr=False)
    problems: Sequence[str]
    special_inputs: Sequence[str]
    audit: Json | None


@dataclass(frozen=True)
class Leader:
    """The best verdict on one source. Times in milliseconds."""

    rank: int
    submission_id: str
    episode_id: str | None
    run_id: str | None
    speedup: float
    speedup_ci95: Sequence[float] | None
    reward: float
    t_ref_ms: float | None
    t_new_ms: float | None
    roofline_frac: float | None
    suspicious: bool
    language: str
    gpu: str | None
    code_sha: str
    finished_at: str
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Run:
    """What all of a run adds up to: counts by status and verdict, rates from 0 to 1."""

    run_id: str
    episodes: Mapping[str, int]
    submissions: Mapping[str, int]
    verdicts: Mapping[str, int]
    rates: Mapping[str, float | None]
    deduped: int
    regrades: int
    reward_mean: float | None
    speedup_best: float | None
    queue_wait_mean_s: float | None
    eval_mean_s: float | None
    first_at: str
    last_at: str
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Attempt:
    """How one attempt at a submission ended; `outcome` is None while it runs."""

    number: int
    slot_id: str
    outcome: str | None
    code: str | None
    detail: str | None
    started_at: str
    ended_at: str | None
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Queue:
    """Depth and age of the queue, over all projects; `eta_s` is an estimate for a submission of normal priority."""

    waiting: int
    running: int
    slots: int
    oldest_age_s: float | None
    eval_mean_s: float | None
    eta_s: float | None
    by_priority: Mapping[str, int]
    queues: Sequence[Json]
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Worker:
    """One slot: a GPU, or what stands in for one, and whether it takes work."""

    id: str
    kind: str
    evaluator: str
    host: str
    state: str
    reason: str | None
    alive: bool
    held: bool
    running: int
    waiting: int
    faults: int
    last_fault: str | None
    isolation: Json | None
    environment: Json
    raw: Json = field(repr=False)


@dataclass(frozen=True)
class Meta:
    """The server's versions, choices, limits and clocks."""

    version: str
    api_version: str
    evaluator: str
    languages: Sequence[str]
    reward_modes: Sequence[str]
    reward_mode: str
    partial_credit: bool
    max_turns: int
    verdicts: Sequence[str]
    tasks: int
    limits: Json
    clocks: Mapping[str, float]
    raw: Json = field(repr=False)
