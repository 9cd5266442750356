"""What an evaluation comes to: by task, by level, and altogether.

fast_p is KernelBench's: the share of tasks with a kernel that is correct and more than p times as fast as PyTorch
(Ouyang et al. 2025, "KernelBench: Can LLMs Write Efficient GPU Kernels?", arXiv:2502.10517). With several
samples of a task it is the chance that one of k drawn from them is such a kernel, by the unbiased estimator of Chen et
al. 2021 ("Evaluating Large Language Models Trained on Code", arXiv:2107.03374, equation 1); pass@k likewise, with
correct alone. A sample is an episode, and counts by its best turn. What was not graded is no sample.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from train.records import EpisodeRecord

FAST_P = (0.5, 0.8, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class TaskSummary:
    """One task. `pass_rate` is the share of correct samples; `best_speedup` None where none was correct."""

    task_id: str
    level: int
    samples: int
    correct: int
    not_graded: int
    suspicious: int
    reward_mean: float | None
    best_speedup: float | None
    best_roofline_frac: float | None

    @property
    def pass_rate(self) -> float | None:
        return self.correct / self.samples if self.samples else None


@dataclass(frozen=True)
class GroupSummary:
    """Several tasks, each with the same weight. Tasks without a graded sample are left out of all means.

    `pass_at` and `fast` are by k; `fast[k]` by p. `pass_by_turn` is the share that is correct by then. `speedup` is the
    geometric mean over tasks with a correct kernel, of the best of each.
    """

    name: str
    tasks: int
    samples: int
    not_graded: int
    pass_at: Mapping[int, float]
    fast: Mapping[int, Mapping[float, float]]
    pass_by_turn: Sequence[float]
    reward_mean: float | None
    speedup: float | None

    @property
    def pass_1(self) -> float | None:
        """pass@1; None where nothing was graded."""
        return self.pass_at.get(1)

    @property
    def fast_1(self) -> float | None:
        """fast_1 of one sample; None where nothing was graded, or it was not asked for."""
        return self.fast.get(1, {}).get(1.0)


@dataclass(frozen=True)
class Summary:
    """Groups are the levels, in order, then `all`."""

    tasks: Sequence[TaskSummary]
    groups: Sequence[GroupSummary]


def at_least_one(n: int, good: int, k: int) -> float:
    """The chance that k drawn from n, `good` of them good, hold a good one. Needs k <= n."""
    return 1.0 - math.comb(n - good, k) / math.comb(n, k)


def latest(episodes: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Each sample of each task once, in order; of one that was played again the last."""
    return list({(episode.task_id, episode.sample): episode for episode in episodes}.values())


def summarize(episodes: Sequence[EpisodeRecord], fast_p: Sequence[float] = FAST_P) -> Summary:
    """Every episode counts as a sample of its own: see `latest`."""
    by_task: dict[str, list[EpisodeRecord]] = defaultdict(list)
    for episode in sorted(episodes, key=lambda each: (each.level, each.task_id)):
        by_task[episode.task_id].append(episode)
    levels = sorted({episode.level for episode in episodes})
    groups = [
        _group(f"level {level}", [found for found in by_task.values() if found[0].level == level], fast_p)
        for level in levels
    ]
    return Summary(
        [_task(task_id, found) for task_id, found in by_task.items()],
        [*groups, _group("all", list(by_task.values()), fast_p)],
    )


def _task(task_id: str, episodes: Sequence[EpisodeRecord]) -> TaskSummary:
    graded = _graded(episodes)
    fractions = [
        turn.roofline_frac
        for episode in graded
        for turn in episode.turns
        if turn.correct and turn.roofline_frac is not None
    ]
    return TaskSummary(
        task_id=task_id,
        level=episodes[0].level,
        samples=len(graded),
        correct=sum(episode.correct for episode in graded),
        not_graded=len(episodes) - len(graded),
        suspicious=sum(any(turn.suspicious for turn in episode.turns) for episode in graded),
        reward_mean=_mean(episode.best_reward for episode in graded),
        best_speedup=max(_speedups(graded), default=None),
        best_roofline_frac=max(fractions, default=None),
    )


def _group(name: str, tasks: Sequence[Sequence[EpisodeRecord]], fast_p: Sequence[float]) -> GroupSummary:
    graded = [found for found in map(_graded, tasks) if found]
    fewest = min(map(len, graded), default=0)
    ks = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= fewest]
    turns = max((len(episode.turns) for found in graded for episode in found), default=0)
    best = [max(speedups) for found in graded if (speedups := _speedups(found))]
    return GroupSummary(
        name=name,
        tasks=len(tasks),
        samples=sum(map(len, graded)),
        not_graded=sum(len(found) for found in tasks) - sum(map(len, graded)),
        pass_at={k: _share(graded, k, lambda episode: episode.correct) for k in ks},
        fast={k: {p: _share(graded, k, _faster_than(p)) for p in fast_p} for k in ks},
        pass_by_turn=[_share(graded, 1, _correct_by(turn)) for turn in range(1, turns + 1)],
        reward_mean=_mean(_mean(episode.best_reward for episode in found) for found in graded),
        speedup=geometric_mean(best) if best else None,
    )


def _share(tasks: Sequence[Sequence[EpisodeRecord]], k: int, is_good: Callable[[EpisodeRecord], bool]) -> float:
    return fmean(at_least_one(len(found), sum(map(is_good, found)), k) for found in tasks)


def _faster_than(p: float) -> Callable[[EpisodeRecord], bool]:
    return lambda episode: episode.best_speedup is not None and episode.best_speedup > p


def _correct_by(turn: int) -> Callable[[EpisodeRecord], bool]:
    return lambda episode: any(each.correct for each in episode.turns[:turn])


def _graded(episodes: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    return [episode for episode in episodes if episode.turns and not episode.failed]


def _speedups(episodes: Iterable[EpisodeRecord]) -> list[float]:
    return [episode.best_speedup for episode in episodes if episode.best_speedup is not None]


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return fmean(found) if found else None
