"""The commands and what they share: which server, whose key, and what exit codes mean.

0: correct, or done. 1: a verdict other than correct. 2: the request was wrong or refused. 3: it was not graded.
4: the server cannot be reached.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from kernel_grader_client.cli import bench, lists, submit, watch
from kernel_grader_client.cli.context import Connection
from kernel_grader_client.errors import KernelGraderError, NotGraded, Refused

REFUSED, NOT_GRADED, UNAVAILABLE, INTERRUPTED = 2, 3, 4, 130

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Send GPU kernels to a Kernel Grader.")
app.command("submit")(submit.submit)
app.command("watch")(watch.watch)
app.command("episodes")(lists.episodes)
app.command("tasks")(lists.tasks)
app.command("leaderboard")(lists.leaderboard)
app.command("bench")(bench.bench)


@app.callback()
def connect(
    context: typer.Context,
    url: Annotated[
        str, typer.Option(envvar="KERNEL_GRADER_URL", help="Where the server listens.")
    ] = "http://127.0.0.1:8000",
    key: Annotated[
        str | None, typer.Option(envvar="KERNEL_GRADER_KEY", help="An API key, where the server wants one.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds for which to try again while the server is away.")
    ] = 60.0,
) -> None:
    """Note where to send requests."""
    context.obj = Connection(url, key, patience)


def main() -> None:
    """Run a command; what goes wrong becomes a sentence and an exit code."""
    console = Console(stderr=True, highlight=False)
    try:
        app()
    except KernelGraderError as error:
        console.print(str(error), style="red", markup=False)
        sys.exit(_exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _exit_code(error: KernelGraderError) -> int:
    if isinstance(error, Refused):
        return REFUSED
    return NOT_GRADED if isinstance(error, NotGraded) else UNAVAILABLE
