"""From the rewards of an episode's turns to the one number that training is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

ReturnMode = Literal["discounted", "best"]


def discounted(rewards: Sequence[float], discount: float) -> float:
    """The sum over turns, each worth `discount` times what it would have been a turn earlier."""
    return sum(reward * discount**turn for turn, reward in enumerate(rewards))


def best(rewards: Sequence[float], discount: float) -> float:
    """The highest reward, `discount` times less with every turn before it."""
    return max(reward * discount**turn for turn, reward in enumerate(rewards))


RETURNS: dict[ReturnMode, Callable[[Sequence[float], float], float]] = {"discounted": discounted, "best": best}


def return_of(rewards: Sequence[float] | None, mode: ReturnMode, discount: float) -> float | None:
    """None where there are no rewards: a turn was not graded, and nothing can be said of the episode."""
    return RETURNS[mode](rewards, discount) if rewards else None
