"""What was set aside for somebody to read: how much there is of each kind, and a few of each with their code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from train.rules import to_read


@dataclass(frozen=True)
class Example:
    """One turn. `kind` is why it was set aside."""

    kind: str
    step: int
    task_id: str
    submission_id: str
    verdict: str
    reward: float | None
    speedup: float | None
    feedback: str
    code: str


@dataclass(frozen=True)
class SetAside:
    """`counts` are turns by kind, most first, `sources` the different sources among them; `shown` are its last ones."""

    counts: Mapping[str, int]
    sources: Mapping[str, int]
    shown: Sequence[Example]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def set_aside(entries: Sequence[Mapping[str, Any]], each: int) -> SetAside:
    """`each` is how many of a kind are shown; no source is shown twice."""
    examples = [_example(entry) for entry in entries]
    counts = dict(Counter(example.kind for example in examples).most_common())
    last = {kind: {one.code: one for one in examples if one.kind == kind} for kind in counts}
    shown = [example for by_code in last.values() for example in list(by_code.values())[::-1][:each]]
    return SetAside(counts, {kind: len(by_code) for kind, by_code in last.items()}, shown)


def _example(entry: Mapping[str, Any]) -> Example:
    return Example(
        kind=_kind(entry),
        step=int(entry["step"]),
        task_id=str(entry["task_id"]),
        submission_id=str(entry["submission_id"]),
        verdict=str(entry["verdict"]),
        reward=entry["reward"],
        speedup=entry["speedup"],
        feedback=str(entry["feedback"]),
        code=str(entry["code"]),
    )


def _kind(entry: Mapping[str, Any]) -> str:
    if rules := to_read(entry["rules"]):
        return ", ".join(rules)
    return "rejected timing" if entry["verdict"] == "rejected_timing" else "suspicious timing"
