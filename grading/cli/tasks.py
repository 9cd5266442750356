"""Tasks of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.adding import Refused, add_task
from evaluator.errors import GraderFault
from grading.cli.output import AsJson, complain, dump, say
from grading.settings import Settings

app = typer.Typer(help="Tasks of your own.", no_args_is_help=True)


@app.callback()
def tasks() -> None:
    """Tasks of your own."""


@app.command("add")
def add(
    file: Annotated[Path, typer.Argument(help="A file in KernelBench's format.")],
    task_id: Annotated[str | None, typer.Option("--id", help="Such as level1/901_Mine; default: folder/file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a task's format, audit it, measure its time and memory; then it is served from the next start on."""
    settings = Settings.load()
    config = settings.evaluator_config()
    try:
        done = add_task(
            file, task_id, config, settings.added_tasks_dir, lambda step: None if as_json else say(f"… {step}")
        )
    except (Refused, GraderFault) as error:
        complain(str(error))
        raise typer.Exit(1) from None
    timing, need_bytes = done.report.timing, int(done.report.environment["device_need_bytes"])
    found = {
        "task_id": done.task.task_id,
        "split": done.task.split,
        "t_ref_ms": timing.t_ref_ms if timing else None,
        "device_need_bytes": need_bytes,
        "special_inputs": done.audit.special.disclosed,
        "notes": list(done.notes),
    }
    if as_json:
        dump(found)
        return
    say(f"Added {found['task_id']} (split {found['split']}) to {settings.added_tasks_dir}; restart to serve it.")
    say(
        f"The reference takes {found['t_ref_ms']:.4g} ms; a grade needs {need_bytes / 1024**2:.1f} MiB."
    )
    for text in (*done.audit.special.disclosed, *done.notes):
        say(f"- {text}")
