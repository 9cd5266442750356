"""What is kept of every episode, and its form as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal

Phase = Literal["train", "eval"]
RETURN = "return"  # a field's name in JSON that Python keeps to itself


class BadRecord(ValueError):
    """A line that is no record; the text names the field and what belongs there."""


@dataclass(frozen=True)
class TurnRecord:
    """One answer of the policy and what became of it.

    `reward`, `verdict` and `stage` are None where it was not graded; `failed` then says why, and is None otherwise.
    `rules` are those that the source broke, by its text or when it ran. `tokens` counts what the policy wrote; it was
    `truncated` where it reached its limit instead of ending the turn.
    """

    turn: int
    submission_id: str | None
    verdict: str | None
    stage: str | None
    reward: float | None
    speedup: float | None
    roofline_frac: float | None
    suspicious: bool
    rules: tuple[str, ...]
    feedback: str
    code_sha256: str
    has_code: bool
    tokens: int
    truncated: bool
    failed: str | None = None

    @property
    def correct(self) -> bool:
        return self.verdict == "correct"

    def __post_init__(self) -> None:
        if (self.reward is None) != (self.verdict is None) or (self.reward is None) != (self.failed is not None):
            raise BadRecord("a turn has a verdict and a reward, or it failed and has neither")


def now() -> str:
    """The time for a stamp, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Stamp:
    """What all records of one step of one rank have in common. `time` is RFC 3339, UTC.

    `step` is the number of updates made before it; `session` one start of the program that played it.
    """

    time: str
    session: str
    step: int
    rank: int
    phase: Phase
    run_id: str


@dataclass(frozen=True)
class EpisodeRecord(Stamp):
    """One episode. `return_` (in JSON `return`) is what training was told, None where a turn was not graded."""

    episode_id: str
    task_id: str
    level: int
    language: str
    prompt: str
    seed: int | None
    turns: tuple[TurnRecord, ...]
    return_: float | None
    prompt_tokens: int
    completion_tokens: int
    sample: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def best_reward(self) -> float | None:
        """The highest reward of a turn; None where none was graded."""
        return max((turn.reward for turn in self.turns if turn.reward is not None), default=None)

    @property
    def best_speedup(self) -> float | None:
        """Of the correct turns; None where there is none."""
        return max((turn.speedup for turn in self.turns if turn.correct and turn.speedup is not None), default=None)

    @property
    def correct(self) -> bool:
        """Whether any turn was."""
        return any(turn.correct for turn in self.turns)

    @property
    def failed(self) -> bool:
        """Whether the grader failed at a turn, so that the episode has no return."""
        return any(turn.failed is not None for turn in self.turns)

    def to_line(self) -> str:
        """One line of JSON with its line break."""
        data = asdict(self)
        data[RETURN] = data.pop("return_")
        data["best_reward"] = self.best_reward
        return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> EpisodeRecord:
        """What a newer version adds is ignored. Raises BadRecord."""
        try:
            data = json.loads(line)
        except ValueError as error:
            raise BadRecord(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise BadRecord("not an object")
        data["return_"] = data.pop(RETURN, None)
        turns = data.get("turns")
        if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            raise BadRecord("turns: a list of objects")
        try:
            data["turns"] = tuple(TurnRecord(**_known(TurnRecord, turn)) for turn in turns)
            return cls(**_known(cls, data))
        except TypeError as error:  # a field is missing; Python's text names it
            raise BadRecord(str(error)) from None


def _known(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(kind)}
    known = {name: value for name, value in data.items() if name in names}
    return known | ({"rules": tuple(known["rules"])} if "rules" in known else {})
