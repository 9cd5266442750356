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


def show(console: Console, summary: Summary) -> None:
    """Tables of groups and of tasks."""
    for table in (_of_groups(summary), _of_fast(summary), _of_tasks(summary)):
        console.print(table)
        console.print()


def _of_groups(summary: Summary) -> Table:
    turns = max((len(group.pass_by_turn) for group in summary.groups), default=0)
    ks = sorted({k for group in summary.groups for k in group.pass_at})
    names = ("tasks", "samples", "not graded", *(f"pass@{k}" for k in ks))
    by = (f"turn {turn}" for turn in range(1, turns + 1))
    table = _table("Share of tasks with a correct kernel, by samples and by turns", *names, *by, "reward", "speedup")
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
    title = "fast_p: correct and more than p times as fast as PyTorch, of k samples"
    table = _table(title, "k", *(f"p = {p:g}" for p in ps))
    for group in summary.groups:
        for k, fast in group.fast.items():
            table.add_row(group.name, str(k), *(percent(fast.get(p)) for p in ps))
    return table


def _of_tasks(summary: Summary) -> Table:
    table = _table("By task", "right", "not graded", "reward", "best speedup", "roofline")
    for task in summary.tasks:
        counts = (f"{task.correct}/{task.samples}", str(task.not_graded))
        measured = (number(task.reward_mean), number(task.best_speedup), percent(task.best_roofline_frac))
        table.add_row(task.task_id, *counts, *measured)
    return table


def _table(title: str, *names: str) -> Table:
    """The first column has no name, and is never cut: a terminal of 80 columns has room for the rest."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    return table


def percent(share: float | None) -> str:
    """`12.5 %`; a dash for what is unknown."""
    return "–" if share is None else f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """Three digits; a dash for what is unknown."""
    return "–" if value is None else f"{value:.3g}"


def headline(group: GroupSummary) -> str:
    """One line on everything."""
    counts = f"{group.tasks} tasks, {group.samples} samples"
    return (
        f"{counts}: pass@1 {percent(group.pass_1)}, fast_1 {percent(group.fast_1)}, reward {number(group.reward_mean)}"
    )
