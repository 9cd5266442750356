"""`kernel-grader watch`"""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from kernel_grader_client.cli import render
from kernel_grader_client.cli.context import connection
from kernel_grader_client.cli.follow import exit_code, follow
from kernel_grader_client.client import KernelGrader
from kernel_grader_client.models import UNFINISHED
from kernel_grader_client.records import Run

LOOK_S = 1.0


def watch(
    context: typer.Context,
    submission: Annotated[str | None, typer.Argument(help="Its id.")] = None,
    run: Annotated[str | None, typer.Option(help="Watch a whole run until nothing of it is left to do.")] = None,
) -> None:
    """Follow a submission, or a run, to its end."""
    if (submission is None) == (run is None):
        raise typer.BadParameter("give either a submission or --run")
    console = Console(highlight=False)
    with connection(context).open() as grader:
        if submission is not None:
            ended = follow(grader, grader.submission(submission), console)
            render.show(console, ended)
            raise typer.Exit(exit_code(ended))
        _watch_run(grader, str(run), console)


def _watch_run(grader: KernelGrader, run_id: str, console: Console) -> None:
    found = grader.run(run_id)
    with Live(_table(found), console=console) as live:
        while any(found.submissions[status] for status in UNFINISHED):
            time.sleep(LOOK_S)
            found = grader.run(run_id)
            live.update(_table(found))


def _table(run: Run) -> Table:
    table = Table(title=f"run {run.run_id}", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, counts in ("submissions", run.submissions), ("verdicts", run.verdicts), ("episodes", run.episodes):
        table.add_row(name, ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "none")
    correct = run.rates["correct_frac"]
    table.add_row("correct", "-" if correct is None else f"{100 * correct:.1f} % of the verdicts")
    table.add_row("best speedup", "-" if run.speedup_best is None else f"{run.speedup_best:.3f}")
    table.add_row("mean reward", "-" if run.reward_mean is None else f"{run.reward_mean:.3f}")
    return table
