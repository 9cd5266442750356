"""Order statistics of small samples."""

import math
from collections.abc import Sequence

#: so many values at least have an interval of 95 % for their median, which is their whole range
CI95_MIN_VALUES = 6


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the sample lies, interpolated between neighbours."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median_ci95(values: Sequence[float]) -> tuple[float, float]:
    """A 95 % confidence interval of the median from order statistics, free of any assumption on the distribution.

    The rank of the median among n values is binomial with p = 1/2 (Conover, "Practical Nonparametric Statistics",
    3.2). With fewer than CI95_MIN_VALUES no interval reaches 95 %, and the whole range is given.
    """
    ordered = sorted(values)
    count = len(ordered)
    tail, rank = 0.0, 0
    while True:
        tail += math.comb(count, rank) / 2**count
        if tail > 0.025:
            break
        rank += 1
    low = max(rank - 1, 0)
    return ordered[low], ordered[count - 1 - low]
