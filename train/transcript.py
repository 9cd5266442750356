"""The tokens of one episode, each with whether the policy wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Transcript:
    """`mask` has a 1 for each token of `completion` that the policy sampled, and a 0 for what it was given."""

    prompt: list[int]
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)

    @property
    def tokens(self) -> list[int]:
        """All of it: what the policy goes on from."""
        return self.prompt + self.completion

    def wrote(self, tokens: Sequence[int]) -> None:
        """Add what the policy sampled."""
        self.completion += tokens
        self.mask += [1] * len(tokens)

    def given(self, tokens: Sequence[int]) -> None:
        """Add what it was given: feedback, and what closes and opens turns."""
        self.completion += tokens
        self.mask += [0] * len(tokens)
