"""What a model has to be able to do, and how it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from train.plays import Answer, Play


class ModelError(Exception):
    """The model cannot be asked; the text says why and what to do."""


@dataclass(frozen=True)
class Sampling:
    """How answers are drawn. `max_tokens` counts those of one answer; `extra` is what else the model's side takes."""

    temperature: float = 0.7
    top_p: float = 1.0
    max_tokens: int = 4096
    seed: int | None = None
    system: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def seed_of(self, play: Play) -> int | None:
        """Another for every sample and turn of a task, the same when it is drawn again."""
        return None if self.seed is None else self.seed + 1000 * play.opening.sample + play.turn

    def messages(self, play: Play) -> list[dict[str, str]]:
        """The conversation so far, behind the system's prompt where there is one."""
        first = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*first, *play.messages]


class Model(Protocol):
    """`side_by_side` conversations are answered best in one call; as many calls as are allowed may run at once."""

    side_by_side: int

    def answers(self, plays: Sequence[Play]) -> list[Answer | None]:
        """One for each, in order; None where the conversation has grown too long to be gone on with.

        Raises ModelError.
        """
        ...
