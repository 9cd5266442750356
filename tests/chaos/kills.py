"""A plan of kills drawn from a seed, and its execution in step with the work that gets done."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.chaos.parts import Keeper

ROUND_S = 2.0
DOWN_MAX_S = 1.0
# longer than a part takes to notice that it hears nothing, and to be started again
STALLED_S = 180.0
LOOK_S = 0.2


@dataclass(frozen=True)
class Kill:
    """One SIGKILL: when in its round, for which part, how (see ProductPart), and how long the part stays down."""

    at_s: float
    part: str
    how: str
    down_s: float


def plan(seed: int, rounds: int, groups: Sequence[Sequence[str]]) -> list[list[Kill]]:
    """In every round one part of each group dies, at its own moment: the same seed gives the same plan."""
    draw = random.Random(seed)

    def kill(group: Sequence[str]) -> Kill:
        how = draw.choice(("main", "all", "child"))
        return Kill(draw.uniform(0, ROUND_S), draw.choice(group), how, draw.uniform(0, DOWN_MAX_S))

    return [sorted((kill(group) for group in groups), key=lambda k: k.at_s) for _ in range(rounds)]


def execute(rounds: Sequence[Sequence[Kill]], keeper: Keeper, progress: Callable[[], float]) -> int:
    """Carry out round after round, spread over the work by its progress (0 to 1); returns how many kills it were.

    A round begins when all parts run again that the last one killed.
    """
    for number, kills in enumerate(rounds):
        _wait_for(keeper, progress, number / (len(rounds) + 1))
        started = time.monotonic()
        for kill in kills:
            time.sleep(max(0.0, started + kill.at_s - time.monotonic()))
            keeper.kill(kill.part, kill.how, kill.down_s)
    return sum(map(len, rounds))


def _wait_for(keeper: Keeper, progress: Callable[[], float], due: float) -> None:
    deadline = time.monotonic() + STALLED_S
    while not keeper.all_running() or progress() < due:
        if time.monotonic() > deadline:
            raise AssertionError(f"no progress within {STALLED_S:g} s")
        time.sleep(LOOK_S)
