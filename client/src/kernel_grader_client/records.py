"""What the server tells about tasks, runs, leaders and itself, as frozen records; `raw` is the whole object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

Json = Mapping[str, Any]
Record = TypeVar("Record")


def record(kind: type[Record], data: Json) -> Record:
    """A record of this kind. What a newer server adds is in `raw` alone; what an older one lacks keeps its default."""
    values: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name == "raw":
            values["raw"] = data
            continue
        key, make = each.metadata.get("key", each.name), each.metadata.get("make")
        if key in data or each.default is MISSING:
            value = data[key]
            values[each.name] = value if make is None or value is None else make(value)
    return kind(**values)


def one(kind: type[Any], **named: str) -> dict[str, Any]:
    """Metadata of a field that holds another record, or None; `key` is what the server calls it."""
    return {"make": lambda data: record(kind, data), **named}


def many(kind: type[Any]) -> dict[str, Any]:
    """Metadata of a field that holds a tuple of records."""
    return {"make": lambda rows: tuple(record(kind, row) for row in rows)}


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What sort of task it is: torch's operators and dtypes, whether there are weights, whether `forward` is random."""

    operators: Sequence[str]
    dtypes: Sequence[str]
    parameters: bool
    random: bool


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What trivial answers pass on a task, and what was done about it; `sizes` is `reduced` or `full`.

    `passed_at_first` names the trivial answers that passed on the task's own inputs, each with what refuses it now.
    """

    passed: bool
    device: str
    sizes: str
    failures: Sequence[str]
    findings: Sequence[str]
    facts: Json
    passed_at_first: Mapping[str, Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class TaskDetail(Task):
    """A task with its reference, what else its kernels are checked on, and its audit, None where there was none."""

    source: str = field(repr=False)
    problems: Sequence[str]
    kind: Kind = field(metadata=one(Kind))
    special_inputs: Sequence[str]
    audit: Audit | None = field(metadata=one(Audit))


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How one attempt at a submission ended; `kind` is `grade` or `build`, `outcome` is None while it runs."""

    number: int
    kind: str = "grade"
    slot_id: str
    outcome: str | None
    code: str | None
    detail: str | None
    started_at: str
    ended_at: str | None
    raw: Json = field(repr=False)


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One slot: a GPU, or what stands in for one, or a builder, and whether it takes work.

    `canary` is what the last probe and the canary's last look found.
    """

    id: str
    role: str = "grader"
    kind: str
    evaluator: str
    host: str
    number: int
    queue: str
    state: str
    reason: str | None
    state_since: str
    alive: bool
    held: bool
    lanes: int = 1
    running: int
    waiting: int
    faults: int
    last_fault: str | None
    last_fault_at: str | None
    canary: Json | None
    canary_at: str | None
    isolation: Json | None
    environment: Json
    raw: Json = field(repr=False)


@dataclass(frozen=True, kw_only=True)
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
    precision_policy: str = "reject"
    verdicts: Sequence[str]
    tasks: int
    limits: Json
    clocks: Mapping[str, float]
    raw: Json = field(repr=False)
