"""What a report says, section by section, in the same words for HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from train.baseline_eval.summary import TaskSummary
from train.baseline_eval.view import number, percent
from train.report.examples import SetAside
from train.report.figures import OUTCOMES, Comparison, Figures, Span
from train.rules import kind_of


@dataclass(frozen=True)
class Table:
    """Cells are texts."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """`name` is also its plot's; `plot` is SVG."""

    name: str
    title: str
    says: str
    tables: Sequence[Table] = ()
    plot: str | None = None


def sections_of(figures: Figures, examples: SetAside, plots: Mapping[str, str]) -> list[Section]:
    """In reading order; without those on what this run does not have."""
    spans = figures.spans or figures.held_out
    made = [
        Section(
            "reward",
            "Reward by step",
            "The best turn of each episode: mean and middle half. What could not be graded counts nowhere. "
            "Speedups are geometric means.",
            [_by_step(figures.spans, "training"), _by_step(figures.held_out, "evaluation")],
        ),
        Section("stages", "Stages by step", "How far sources got, by turn.", [_stages(spans)]),
    ]
    if figures.comparison is not None:
        made += _of_comparison(figures.comparison, plots)
    made.append(
        Section(
            "tried",
            "What the policy tries",
            "Sources that a rule refused for going around the task, timings that were rejected, and timings that are "
            "suspicious, per 100 turns. Rules that tell of mistakes are in the table alone.",
            [_rules(figures.rules), _set_aside(examples)],
        )
    )
    return [
        Section(each.name, each.title, each.says, [table for table in each.tables if table.rows], plots.get(each.name))
        for each in made
    ]


def headlines(figures: Figures) -> list[str]:
    """The comparison in a line each."""
    if figures.comparison is None:
        return ["Too few steps for a comparison of before and after."]
    pair = (
        (figures.comparison.before_name, figures.comparison.before),
        (figures.comparison.after_name, figures.comparison.after),
    )
    return [
        f"{name[0].upper()}{name[1:]}: pass@1 {percent(group.pass_1)}, "
        f"fast_1 {percent(group.fast_1)}, reward {number(group.reward_mean)}."
        for name, group in pair
    ]


def _by_step(spans: Sequence[Span], name: str) -> Table:
    header = [name, "episodes", "not graded", "reward", "return", "correct", "speedup of correct"]
    rows = [
        [
            f"step {span.name}",
            str(span.episodes),
            str(span.not_graded),
            number(span.reward_mean),
            number(span.return_mean),
            percent(span.correct_share),
            number(span.speedup),
        ]
        for span in spans
    ]
    return Table(header, rows)


def _stages(spans: Sequence[Span]) -> Table:
    reached = [name for name in OUTCOMES if any(span.outcomes.get(name) for span in spans)]
    rows = [[f"step {span.name}", str(span.turns), *(str(span.outcomes.get(n, 0)) for n in reached)] for span in spans]
    return Table(["", "turns", *reached], rows)


def _of_comparison(comparison: Comparison, plots: Mapping[str, str]) -> list[Section]:
    names = f"Before is {comparison.before_name}, after is {comparison.after_name}."
    overall = [
        [
            name,
            str(group.tasks),
            str(group.samples),
            percent(group.pass_1),
            percent(group.fast_1),
            number(group.reward_mean),
            number(group.speedup),
        ]
        for name, group in (("before", comparison.before), ("after", comparison.after))
    ]
    groups = Table(["", "tasks", "samples", "pass@1", "fast_1", "reward", "speedup of correct"], overall)
    measures = ("pass", "reward", "best speedup", "roofline")
    header = ["task", *(f"{measure} {end}" for measure in measures for end in ("before", "after"))]
    rows = [
        [
            pair.task_id,
            *_both(pair.before, pair.after, lambda task: percent(task.pass_rate)),
            *_both(pair.before, pair.after, lambda task: number(task.reward_mean)),
            *_both(pair.before, pair.after, lambda task: number(task.best_speedup)),
            *_both(pair.before, pair.after, lambda task: percent(task.best_roofline_frac)),
        ]
        for pair in comparison.tasks
    ]
    says = f"{names} Speedups are over PyTorch, of the best correct kernel of a task."
    roofline = (
        "The best correct kernel's share of what the hardware allows."
        if "roofline" in plots
        else "Unknown: nothing was timed on a GPU whose peaks are known."
    )
    return [
        Section("speedup", "Before against after, by task", says, [groups, Table(header, rows)]),
        Section("roofline", "Roofline, by task", roofline),
    ]


def _rules(rules: Mapping[str, int]) -> Table:
    rows = [[rule, kind_of(rule), str(count)] for rule, count in rules.items()]
    return Table(["rule", "tells of a", "turns"], rows)


def _set_aside(examples: SetAside) -> Table:
    rows = [[kind, str(count), str(examples.sources[kind])] for kind, count in examples.counts.items()]
    return Table(["set aside for", "turns", "different sources"], rows)


def _both(before: TaskSummary | None, after: TaskSummary | None, tell: Callable[[TaskSummary], str]) -> list[str]:
    return ["–" if task is None else tell(task) for task in (before, after)]
