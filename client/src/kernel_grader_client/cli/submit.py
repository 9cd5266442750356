"""`kernel-grader submit`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kernel_grader_client.cli import render
from kernel_grader_client.cli.context import connection
from kernel_grader_client.cli.follow import exit_code, follow
from kernel_grader_client.options import Language, Priority


def submit(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="The source.")],
    task: Annotated[str | None, typer.Option(help="Such as level1/19_ReLU.")] = None,
    episode: Annotated[str | None, typer.Option(help="An open episode, instead of a task.")] = None,
    language: Annotated[Language | None, typer.Option(help="triton or cuda.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Grade on this kind of GPU only.")] = None,
    priority: Annotated[Priority, typer.Option(help="high, normal or low.")] = "normal",
    run: Annotated[str | None, typer.Option(help="The run that this belongs to.")] = None,
    wait: Annotated[bool, typer.Option(help="Stay until there is a verdict.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole object as JSON.")] = False,
) -> None:
    """Grade a file; the exit code is 0 only where it is correct."""
    if (task is None) == (episode is None):
        raise typer.BadParameter("give either --task or --episode")
    try:
        code = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file} is not UTF-8: {error}") from None
    console = Console(highlight=False, stderr=as_json)
    with connection(context).open() as grader:
        submission = grader.submit(
            code,
            task_id=task,
            episode_id=episode,
            language=language,
            gpu=gpu,
            priority=priority,
            run_id=run,
        )
        if wait:
            try:
                submission = follow(grader, submission, console)
            except KeyboardInterrupt:
                console.print(f"It goes on: kernel-grader watch {submission.id}", soft_wrap=True)
                raise
    if as_json:
        typer.echo(json.dumps(submission.raw, indent=1))
    elif submission.finished:
        render.show(console, submission)
    else:
        typer.echo(submission.id)
    if wait:
        raise typer.Exit(exit_code(submission))
