"""`python -m train.baseline_eval run` and `… summarize`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from kernel_grader_client import KernelGrader, KernelGraderError, Task
from rich.console import Console

from train.baseline_eval.endpoint import Endpoint
from train.baseline_eval.evaluation import Evaluation, evaluate
from train.baseline_eval.models import Model, ModelError, Sampling
from train.baseline_eval.summary import FAST_P, latest, summarize
from train.baseline_eval.view import bar, headline, show
from train.plays import Opening
from train.recording import read_run
from train.records import BadRecord
from train.settings import OtherSettings

SUMMARY = "summary.json"
cli = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
console = Console(stderr=True)


@cli.callback()
def about() -> None:
    """How good a model is at the tasks of a grader (KERNEL_GRADER_URL, KERNEL_GRADER_KEY)."""


@cli.command()
def run(
    model: Annotated[str, typer.Option(help="the model's name at the endpoint, or its folder with --local")],
    out: Annotated[Path, typer.Option(help="the folder of this evaluation; one that was broken off goes on there")],
    endpoint: Annotated[str, typer.Option(help="an OpenAI-compatible address; its key is OPENAI_API_KEY")] = "",
    local: Annotated[bool, typer.Option("--local", help="load the model here, with transformers")] = False,
    split: Annotated[str, typer.Option(help="train, eval or all")] = "eval",
    level: Annotated[int | None, typer.Option(help="only this level")] = None,
    task: Annotated[list[str] | None, typer.Option(help="only this task; may be given several times")] = None,
    samples: Annotated[int, typer.Option(min=1, help="episodes per task")] = 1,
    max_turns: Annotated[int, typer.Option(min=1)] = 4,
    language: Annotated[str, typer.Option(help="triton or cuda")] = "triton",
    parallel: Annotated[int, typer.Option(min=1, help="conversations at once")] = 16,
    temperature: Annotated[float, typer.Option(min=0.0)] = 0.7,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0)] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="of one answer")] = 4096,
    seed: Annotated[int | None, typer.Option(help="for endpoints and models that draw the same for the same")] = None,
    system: Annotated[str | None, typer.Option(help="a system prompt")] = None,
    extra: Annotated[str, typer.Option(help="JSON: more fields of a request, or with --local of the template")] = "{}",
    run_id: Annotated[str, typer.Option(help="by which the server groups it")] = "baseline",
    step: Annotated[int, typer.Option(min=0, help="updates that a checkpoint has had, for reports")] = 0,
) -> None:
    """Play every task of a split, put every episode on file, and say what it came to."""
    if bool(endpoint) == local:
        raise typer.BadParameter("give either --endpoint URL or --local")
    sampling = Sampling(temperature, top_p, max_tokens, seed, system, _object(extra))
    try:
        with KernelGrader(on_failure="none") as grader:
            tasks = _tasks(grader, split, level, task or [])
            openings = [
                Opening(each.id, language=language, max_turns=max_turns, sample=sample)
                for sample in range(samples)
                for each in tasks
            ]
            settings = {
                "model": model,
                **asdict(sampling),
                "max_turns": max_turns,
                "language": language,
                "tasks": [each.id for each in tasks],
            }
            evaluation = Evaluation(out, openings, settings, run_id, step)
            left = evaluation.left()
            asked = _model(endpoint, model, sampling, parallel) if left else None
            with bar(console, len(openings), len(openings) - len(left)) as progress:
                if asked is not None:
                    evaluate(evaluation, left, asked, grader, parallel=parallel, on_ended=progress.ended)
    except (ModelError, OtherSettings, BadRecord, KernelGraderError) as error:
        console.print(f"{error}\nWhat has ended is in {out}; the same command goes on from there.", markup=False)
        raise typer.Exit(1) from None
    _tell(out)


@cli.command("summarize")
def summarize_(
    folder: Annotated[Path, typer.Argument(help="of an evaluation")],
    fast_p: Annotated[list[float] | None, typer.Option("--fast-p", help="a p; may be given several times")] = None,
) -> None:
    """Say again what an evaluation came to, so far or in the end."""
    _tell(folder, fast_p or list(FAST_P))


def _tell(folder: Path, fast_p: list[float] | None = None) -> None:
    """Tables for people on standard error; a line for everybody on standard output; all of it in `summary.json`."""
    try:
        summary = summarize(latest(read_run(folder)), fast_p or FAST_P)
    except (BadRecord, FileNotFoundError) as error:
        console.print(str(error), markup=False)
        raise typer.Exit(1) from None
    (folder / SUMMARY).write_text(json.dumps(asdict(summary), indent=1, allow_nan=False) + "\n")
    show(console, summary)
    print(headline(summary.groups[-1]))


def _tasks(grader: KernelGrader, split: str, level: int | None, named: list[str]) -> list[Task]:
    if split not in ("train", "eval", "all"):
        raise typer.BadParameter(f"--split takes train, eval or all, not {split}")
    found = [task for task in grader.tasks(level=level, limit=200) if split in ("all", task.split)]
    if unknown := set(named) - {task.id for task in found}:
        raise typer.BadParameter(f"not among the tasks of split {split}: {', '.join(sorted(unknown))}")
    chosen = [task for task in found if not named or task.id in named]
    if left_out := [task.id for task in chosen if not task.supported]:
        console.print(f"Left out, since the server does not serve them: {', '.join(left_out)}", markup=False)
    if not (served := [task for task in chosen if task.supported]):
        raise typer.BadParameter(f"the server serves no task of split {split}, level {level or 'any'}")
    return served


def _model(endpoint: str, name: str, sampling: Sampling, parallel: int) -> Model:
    if endpoint:
        return Endpoint(endpoint, name, sampling, os.environ.get("OPENAI_API_KEY") or "none")
    from train.baseline_eval.local import Local  # torch and transformers take seconds to load

    return Local(name, sampling, side_by_side=parallel)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--extra takes a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise typer.BadParameter("--extra takes a JSON object")
    return found


if __name__ == "__main__":
    cli()
