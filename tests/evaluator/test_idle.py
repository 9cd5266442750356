"""Whether something else runs on a device, told from how long flushes take beside it."""

import itertools
import time
from collections.abc import Iterable, Iterator

from evaluator.judge.idle import idle_within

TURN_S = 0.004


class Flushes:
    """Flushes that are as long as the script says."""

    def __init__(self, alone: Iterable[bool]) -> None:
        self._alone: Iterator[bool] = iter(alone)
        self.count = 0

    def flushed_alone(self) -> bool:
        self.count += 1
        return next(self._alone)


class Shared:
    """Contexts take turns: after a rest as long as the other's turn one's own work begins at once, else it waits."""

    def __init__(self) -> None:
        self._rested_since = float("-inf")

    def flushed_alone(self) -> bool:
        quick = time.monotonic() - self._rested_since > TURN_S
        self._rested_since = time.monotonic()
        return quick


def test_an_idle_device_is_told_from_the_second_flush() -> None:
    device = Flushes(itertools.repeat(True))
    assert idle_within(device, 5.0)
    assert device.count >= 2


def test_a_quick_flush_after_a_rest_proves_nothing() -> None:
    assert not idle_within(Shared(), 0.05)


def test_what_ends_by_itself_is_waited_for() -> None:
    assert idle_within(Flushes(itertools.chain([False] * 9, itertools.repeat(True))), 5.0)
