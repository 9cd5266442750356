"""The segment that one side's outputs lie in, and the poison that keeps yesterday's results from being today's."""

import torch

from evaluator.judge.segments import Segment

POISON = 0xFF  # NaN in every floating-point type, -1 in every signed integer
_PLACES_MAX = 256


class OutputArena:
    """Poisoned whole for a new runner, and after that wherever an output has lain.

    What a runner allocates in `forward` and keeps without returning it (packed weights, scratch) survives: an honest
    model may fill it in its first call. Stale outputs do not, and what else lies there was made from other inputs.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._places: set[tuple[int, int]] = set()
        self._fresh = True

    @property
    def bytes(self) -> torch.Tensor:
        """1-D uint8 over the whole segment."""
        return self._segment.bytes

    def renew(self) -> None:
        """Another runner is about to use it."""
        self._places.clear()
        self._fresh = True

    def poison(self) -> None:
        """Queue the writing of the poison."""
        if self._fresh:
            self.bytes.fill_(POISON)
            self._fresh = False
        for begin, end in self._places:
            self.bytes[begin:end].fill_(POISON)

    def note_output(self, begin: int, end: int) -> None:
        """An output lay in these bytes."""
        self._places.add((begin, end))
        if len(self._places) > _PLACES_MAX:  # each costs a launch, and the runner decides how many there are
            self._places = {(min(begin for begin, _ in self._places), max(end for _, end in self._places))}

    def export(self) -> tuple[dict[str, object], list[int]]:
        """As `Segment.export`."""
        return self._segment.export()

    def close(self) -> None:
        """As `Segment.close`."""
        self._segment.close()
