"""Order statistics of the timing."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judge.statistics import median_ci95, quantile

Samples = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@pytest.mark.parametrize("count", [6, 7, 10, 15, 25, 50, 100])
def test_the_interval_covers_the_median_as_often_as_it_says(count: int) -> None:
    rng = random.Random(count)
    runs = 2000
    hits = 0
    for _ in range(runs):
        low, high = median_ci95([rng.lognormvariate(0.0, 1.0) for _ in range(count)])  # its median is 1
        hits += low <= 1.0 <= high
    assert hits / runs > 0.94  # exactly 95 % and more, by the binomial, less what 2000 runs scatter


@pytest.mark.parametrize(("count", "low", "high"), [(6, 0, 5), (9, 1, 7), (10, 1, 8), (15, 3, 11), (100, 39, 60)])
def test_ranks_are_those_of_the_tables(count: int, low: int, high: int) -> None:
    assert median_ci95(list(range(count))) == (low, high)


@given(Samples)
def test_the_interval_holds_the_median(values: list[float]) -> None:
    low, high = median_ci95(values)
    assert min(values) <= low <= statistics.median(values) <= high <= max(values)
    if len(values) < 6:
        assert (low, high) == (min(values), max(values))


@given(Samples, st.floats(0, 1))
def test_quantiles(values: list[float], share: float) -> None:
    assert min(values) <= quantile(values, share) <= max(values)
    assert quantile(values, 0.5) == pytest.approx(statistics.median(values), abs=1e-6)
    assert (quantile(values, 0.0), quantile(values, 1.0)) == (min(values), max(values))
