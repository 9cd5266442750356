"""`kernel-grader episodes`, `tasks` and `leaderboard`"""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kernel_grader_client.cli.context import connection
from kernel_grader_client.options import Split

Limit = Annotated[int, typer.Option(min=1, help="At most as many.")]
Run = Annotated[str | None, typer.Option(help="Of this run only.")]


def episodes(
    context: typer.Context,
    run: Run = None,
    status: Annotated[str | None, typer.Option(help="active, finished, cancelled or expired; a comma list.")] = None,
    limit: Limit = 20,
) -> None:
    """List episodes, newest first."""
    table = _table("episode", "task", "status", "turns", "best", "run")
    with connection(context).open() as grader:
        for row in islice(grader.episodes(run_id=run, status=status, limit=min(limit, 200)), limit):
            turns = f"{len(row.history)} of {row.max_turns}"
            table.add_row(row.id, row.task_id, row.status, turns, _number(row.best_speedup), row.run_id or "")
    _show(table)


def tasks(
    context: typer.Context,
    level: Annotated[int | None, typer.Option(help="Of this level only.")] = None,
    split: Annotated[Split | None, typer.Option(help="train or eval.")] = None,
    limit: Limit = 1000,
) -> None:
    """List what can be solved."""
    table = _table("task", "family", "split", "served")
    with connection(context).open() as grader:
        for row in islice(grader.tasks(level=level, split=split), limit):
            table.add_row(row.id, row.family, row.split, "yes" if row.supported else "no")
    _show(table)


def leaderboard(
    context: typer.Context,
    task: Annotated[str, typer.Argument(help="Such as level1/19_ReLU.")],
    run: Run = None,
    gpu: Annotated[str | None, typer.Option(help="On this device only.")] = None,
    limit: Limit = 20,
) -> None:
    """List the best verdicts on a task, each source once."""
    table = _table("rank", "speedup", "time", "roofline", "device", "submission", "run")
    with connection(context).open() as grader:
        for row in grader.leaderboard(task, run_id=run, gpu=gpu, limit=min(limit, 100)):
            share = row.roofline_frac
            table.add_row(
                str(row.rank),
                _number(row.speedup) + (" (suspicious)" if row.suspicious else ""),
                f"{row.t_new_ms:.4g} ms" if row.t_new_ms is not None else "",
                f"{100 * share:.1f} %" if share is not None else "",
                row.gpu or "",
                row.submission_id,
                row.run_id or "",
            )
    _show(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _show(table: Table) -> None:
    console: Any = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    console.print(table if table.row_count else "none")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
