"""The figures behind a report, as plain records; draws and writes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, quantiles

from train.baseline_eval.summary import GroupSummary, TaskSummary, latest, summarize
from train.metrics import STAGES
from train.records import EpisodeRecord
from train.rules import to_read

NOT_GRADED = "not graded"
OUTCOMES = (*STAGES, NOT_GRADED)
SPANS = 60
# of a run without evaluations, so much of its steps at either end
END_SHARE = 0.2


@dataclass(frozen=True)
class Span:
    """Some successive steps; most often one. Rewards are those of the best turns of graded episodes.

    `outcomes` counts turns by the stage that they reached, `rules` those that broke a rule, by rule.
    """

    first: int
    last: int
    episodes: int
    not_graded: int
    reward_mean: float | None
    reward_low: float | None
    reward_high: float | None
    return_mean: float | None
    correct_share: float | None
    speedup: float | None
    turns: int
    outcomes: Mapping[str, int]
    rules: Mapping[str, int]
    rejected_timing: int
    suspicious: int

    @property
    def name(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Pair:
    """One task before and after; None where it was not played."""

    task_id: str
    before: TaskSummary | None
    after: TaskSummary | None


@dataclass(frozen=True)
class Comparison:
    """`before_name` and `after_name` say which episodes were taken."""

    before_name: str
    after_name: str
    before: GroupSummary
    after: GroupSummary
    tasks: Sequence[Pair]


@dataclass(frozen=True)
class Figures:
    """Everything that a report tells of a run, but for the examples. `held_out` are spans of evaluations."""

    spans: Sequence[Span]
    held_out: Sequence[Span]
    comparison: Comparison | None
    rules: Mapping[str, int]


def figures_of(
    episodes: Sequence[EpisodeRecord],
    before: Sequence[EpisodeRecord] | None = None,
    after: Sequence[EpisodeRecord] | None = None,
) -> Figures:
    """Of a run's episodes; `before` and `after` are evaluations of its own ends, where it has none of them in it."""
    train = [episode for episode in episodes if episode.phase == "train"]
    held_out = [episode for episode in episodes if episode.phase == "eval"]
    rules = Counter(rule for episode in episodes for turn in episode.turns for rule in turn.rules)
    return Figures(
        spans=over_time(train),
        held_out=over_time(held_out),
        comparison=_compared(train, held_out, before, after),
        rules=dict(rules.most_common()),
    )


def tried(rules: Mapping[str, int]) -> dict[str, int]:
    """Those rules that tell of a way around the task, not of a mistake."""
    return {rule: rules[rule] for rule in to_read(rules)}


def over_time(episodes: Iterable[EpisodeRecord], spans: int = SPANS) -> list[Span]:
    """By step; where there are more than `spans`, by as many equal stretches of them."""
    by_step: dict[int, list[EpisodeRecord]] = {}
    for episode in episodes:
        by_step.setdefault(episode.step, []).append(episode)
    steps = sorted(by_step)
    size = max(1, -(-len(steps) // spans))
    stretches = [steps[begin : begin + size] for begin in range(0, len(steps), size)]
    return [_span(each, [episode for step in each for episode in by_step[step]]) for each in stretches]


def _span(steps: Sequence[int], episodes: Sequence[EpisodeRecord]) -> Span:
    graded = [episode for episode in episodes if not episode.failed]
    turns = [turn for episode in episodes for turn in episode.turns]
    rewards = [episode.best_reward for episode in graded if episode.best_reward is not None]
    returns = [episode.return_ for episode in graded if episode.return_ is not None]
    speedups = [episode.best_speedup for episode in graded if episode.best_speedup]
    low, _, high = quantiles(rewards, n=4, method="inclusive") if len(rewards) > 1 else (None, None, None)
    return Span(
        first=steps[0],
        last=steps[-1],
        episodes=len(episodes),
        not_graded=len(episodes) - len(graded),
        reward_mean=fmean(rewards) if rewards else None,
        reward_low=low,
        reward_high=high,
        return_mean=fmean(returns) if returns else None,
        correct_share=fmean(episode.correct for episode in graded) if graded else None,
        speedup=geometric_mean(speedups) if speedups else None,
        turns=len(turns),
        outcomes=Counter(turn.stage or NOT_GRADED for turn in turns),
        rules=Counter(rule for turn in turns for rule in turn.rules),
        rejected_timing=sum(turn.verdict == "rejected_timing" for turn in turns),
        suspicious=sum(turn.suspicious for turn in turns),
    )


def _compared(
    train: Sequence[EpisodeRecord],
    held_out: Sequence[EpisodeRecord],
    before: Sequence[EpisodeRecord] | None,
    after: Sequence[EpisodeRecord] | None,
) -> Comparison | None:
    """Of the evaluations that were given, else of the run's first and last, else of its first and last steps."""
    if before is not None and after is not None:
        return _comparison("the evaluation before", "the evaluation after", latest(before), latest(after))
    steps = sorted({episode.step for episode in held_out})
    if len(steps) > 1:
        names = (f"evaluation at step {steps[0]}", f"evaluation at step {steps[-1]}")
        return _comparison(*names, latest(_at(held_out, steps[:1])), latest(_at(held_out, steps[-1:])))
    steps = sorted({episode.step for episode in train})
    if len(steps) > 1:
        size = max(1, int(END_SHARE * len(steps)))
        names = (f"training, first {_steps(size)}", f"training, last {_steps(size)}")
        return _comparison(*names, _at(train, steps[:size]), _at(train, steps[-size:]))
    return None


def _comparison(
    before_name: str, after_name: str, before: Sequence[EpisodeRecord], after: Sequence[EpisodeRecord]
) -> Comparison:
    first, last = summarize(before), summarize(after)
    by_task = [{task.task_id: task for task in summary.tasks} for summary in (first, last)]
    ids = sorted({**by_task[0], **by_task[1]}, key=_by_number)
    pairs = [Pair(task_id, by_task[0].get(task_id), by_task[1].get(task_id)) for task_id in ids]
    return Comparison(before_name, after_name, first.groups[-1], last.groups[-1], pairs)


def _by_number(task_id: str) -> list[tuple[int, str]]:
    """`level1/9_…` comes before `level1/10_…`."""
    return [(int(digits or 0), text) for text, digits in re.findall(r"(\D+)(\d*)", task_id)]


def _at(episodes: Sequence[EpisodeRecord], steps: Sequence[int]) -> list[EpisodeRecord]:
    return [episode for episode in episodes if episode.step in set(steps)]


def _steps(count: int) -> str:
    return "step" if count == 1 else f"{count} steps"
