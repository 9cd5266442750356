"""The figures of an evaluation, against counting by hand."""

import itertools
from statistics import fmean

import pytest

from tests.train.made_up import episode, turn
from train.baseline_eval.summary import at_least_one, latest, summarize


@pytest.mark.parametrize(("n", "good", "k"), [(4, 1, 2), (5, 3, 2), (6, 0, 3), (3, 3, 1), (8, 2, 8)])
def test_at_least_one_is_the_share_of_all_draws(n: int, good: int, k: int) -> None:
    draws = itertools.combinations([True] * good + [False] * (n - good), k)
    assert at_least_one(n, good, k) == pytest.approx(fmean(map(any, draws)))


def test_groups_and_tasks() -> None:
    first, second, third = "level1/19_ReLU", "level1/23_Softmax", "level2/76_Gemm_Add_ReLU"
    episodes = latest(
        [
            episode(first, turn(1, "incorrect"), turn(2, "correct", 1.5), sample=0),
            episode(first, turn(1, None), sample=1),  # was played again:
            episode(first, turn(1, "correct", 1.0), turn(2, "correct", 0.7, suspicious=True), sample=1),
            episode(second, turn(1, "format_violation"), sample=0),
            episode(second, turn(1, "incorrect"), sample=1),
            episode(third, turn(1, None), sample=0),
        ]
    )
    summary = summarize(episodes, fast_p=(0.9, 1.0, 2.0))
    relu, softmax, gemm = summary.tasks
    assert (relu.samples, relu.correct, relu.pass_rate, relu.best_speedup, relu.suspicious) == (2, 2, 1.0, 1.5, 1)
    assert (softmax.samples, softmax.pass_rate, softmax.best_speedup, softmax.reward_mean) == (2, 0.0, None, 0.0)
    assert (gemm.samples, gemm.not_graded, gemm.pass_rate, gemm.reward_mean) == (0, 1, None, None)
    level1, level2, everything = summary.groups
    assert (level1.tasks, level1.samples, level1.not_graded) == (2, 4, 0)
    assert level1.pass_at == {1: 0.5, 2: 0.5}
    # of two samples of ReLU both are faster than 0.9, one than 1 (1.0 is not), none than 2
    assert level1.fast == {1: {0.9: 0.5, 1.0: 0.25, 2.0: 0.0}, 2: {0.9: 0.5, 1.0: 0.5, 2.0: 0.0}}
    assert level1.pass_by_turn == [0.25, 0.5]
    assert (level1.reward_mean, level1.speedup) == (0.5, pytest.approx(1.5))
    assert (level2.tasks, level2.samples, level2.not_graded, level2.pass_at, level2.speedup) == (1, 0, 1, {}, None)
    assert (everything.name, everything.tasks, everything.pass_at[1]) == ("all", 3, 0.5)
