"""What somebody at a terminal sees: a bar while it runs, tables at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from train.baseline_eval.summary import GroupSummary, Summary
from train.records import EpisodeRecord


class Bar:
    """A progress bar over episodes, with what came of them so far."""

    def __init__(self, progress: Progress, total: int, done: int) -> None:
        self._progress = progress
        self._counts = {"correct": 0, "wrong": 0, "not graded": 0}
        self._task = progress.add_task("episodes", total=total, completed=done, told="")

    def ended(self, episode: EpisodeRecord) -> None:
        """Count one more."""
        self._counts["not graded" if episode.failed else "correct" if episode.correct else "wrong"] += 1
        told = ", ".join(f"{count} {what}" for what, count in self._counts.items() if count)
        self._progress.update(self._task, advance=1, told=told)


@contextmanager
def bar(console: Console, total: int, done: int) -> Iterator[Bar]:
    """`done` of `total` episodes are on file already."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), TextColumn("{task.fields[told]}"), console=console) as progress:
        yield Bar(progress, total, done)


def show(console: Console, summary: Summary, *, tasks: bool = True) -> None:
    """Tables of groups and, if asked for, of tasks."""
    console.print(_of_groups(summary))
    console.print(_of_fast(summary))
    if tasks:
        console.print(_of_tasks(summary))


def _of_groups(summary: Summary) -> Table:
    turns = max((len(group.pass_by_turn) for group in summary.groups), default=0)
    ks = sorted({k for group in summary.groups for k in group.pass_at})
    table = Table(title="Share of tasks with a correct kernel, by samples and by turns")
    for name in ("", "tasks", "samples", "not graded", *(f"pass@{k}" for k in ks)):
        table.add_column(name, justify="right" if name else "left")
    for name in (*(f"turn {turn}" for turn in range(1, turns + 1)), "reward", "speedup"):
        table.add_column(name, justify="right")
    for group in summary.groups:
        by_turn = [*group.pass_by_turn, *[None] * (turns - len(group.pass_by_turn))]
        table.add_row(
            group.name,
            *(str(count) for count in (group.tasks, group.samples, group.not_graded)),
            *(percent(group.pass_at.get(k)) for k in ks),
            *map(percent, by_turn),
            number(group.reward_mean),
            number(group.speedup),
        )
    return table


def _of_fast(summary: Summary) -> Table:
    ps = sorted({p for group in summary.groups for fast in group.fast.values() for p in fast})
    table = Table(title="fast_p: correct, and more than p times as fast as PyTorch; one of k samples")
    for name in ("", "k", *(f"p = {p:g}" for p in ps)):
        table.add_column(name, justify="right" if name else "left")
    for group in summary.groups:
        for k, fast in group.fast.items():
            table.add_row(group.name, str(k), *(percent(fast.get(p)) for p in ps))
    return table


def _of_tasks(summary: Summary) -> Table:
    table = Table(title="By task")
    for name in ("task", "samples", "correct", "not graded", "suspicious", "reward", "best speedup", "roofline"):
        table.add_column(name, justify="left" if name == "task" else "right")
    for task in summary.tasks:
        counts = (task.samples, task.correct, task.not_graded, task.suspicious)
        measured = (number(task.reward_mean), number(task.best_speedup), percent(task.best_roofline_frac))
        table.add_row(task.task_id, *map(str, counts), *measured)
    return table


def percent(share: float | None) -> str:
    """`12.5 %`; a dash for what is unknown."""
    return "–" if share is None else f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """Three digits; a dash for what is unknown."""
    return "–" if value is None else f"{value:.3g}"


def headline(group: GroupSummary) -> str:
    """One line on everything."""
    passed, fast = percent(group.pass_at.get(1)), percent(group.fast.get(1, {}).get(1.0))
    counts = f"{group.tasks} tasks, {group.samples} samples"
    return f"{counts}: pass@1 {passed}, fast_1 {fast}, reward {number(group.reward_mean)}"
