"""`python -m train.report FOLDER`: `report.html`, one file, and `report.md` with its plots beside it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from train.baseline_eval.view import number
from train.recording import read_run, read_suspicious
from train.records import BadRecord, EpisodeRecord
from train.report.examples import set_aside
from train.report.figures import figures_of
from train.report.hostile import fenced, inline, visible
from train.report.plots import draw
from train.report.sections import headlines, sections_of

TEMPLATES = Path(__file__).parent / "templates"
EXAMPLES = 5
cli = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@cli.command()
def main(
    folder: Annotated[Path, typer.Argument(help="of a run: rollouts-rankN.jsonl, suspicious.jsonl")],
    out: Annotated[Path | None, typer.Option(help="where to write; default: the run's folder")] = None,
    before: Annotated[Path | None, typer.Option(help="a folder of baseline_eval, of the model as it was")] = None,
    after: Annotated[Path | None, typer.Option(help="a folder of baseline_eval, of the model as it became")] = None,
    examples: Annotated[int, typer.Option(min=0, help="sources shown of each suspicious kind")] = EXAMPLES,
    title: Annotated[str, typer.Option()] = "Training of a kernel policy",
) -> None:
    """Write the report of a run, or of an evaluation."""
    if (before is None) != (after is None):
        raise typer.BadParameter("--before and --after go together")
    try:
        written = write(folder, out or folder, before, after, examples=examples, title=title)
    except (BadRecord, FileNotFoundError, NotADirectoryError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    for path in written:
        print(path)


def write(
    folder: Path,
    out: Path,
    before: Path | None = None,
    after: Path | None = None,
    *,
    examples: int = EXAMPLES,
    title: str = "Training of a kernel policy",
) -> list[Path]:
    """The files that it has written: HTML, Markdown, plots. Raises BadRecord, FileNotFoundError."""
    episodes = read_run(folder)
    ends = [None if each is None else read_run(each) for each in (before, after)]
    figures = figures_of(episodes, *ends)
    plots = draw(figures)
    aside = set_aside(read_suspicious(folder), examples)
    told = {
        "title": title,
        "about": _about(episodes),
        "headlines": headlines(figures),
        "sections": sections_of(figures, aside, plots),
        "examples": aside,
    }
    (out / "plots").mkdir(parents=True, exist_ok=True)
    texts = {
        out / "report.html": _environment(html=True).get_template("report.html.j2").render(told),
        out / "report.md": _environment(html=False).get_template("report.md.j2").render(told),
        **{out / "plots" / f"{name}.svg": svg for name, svg in plots.items()},
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def _environment(*, html: bool) -> Environment:
    made = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=html, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {"visible": visible, "inline": inline, "fenced": fenced, "number": number, "base64": _base64}
    return made


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _about(episodes: Sequence[EpisodeRecord]) -> str:
    runs = sorted({episode.run_id for episode in episodes})
    updates = len({episode.step for episode in episodes if episode.phase == "train"})
    evaluations = len({episode.step for episode in episodes if episode.phase == "eval"})
    turns = sum(len(episode.turns) for episode in episodes)
    failed = sum(episode.failed for episode in episodes)
    times = sorted(episode.time for episode in episodes)
    return (
        f"Run {', '.join(runs)}: {updates} updates, {evaluations} evaluations, {len(episodes)} episodes with {turns} "
        f"turns on {len({episode.task_id for episode in episodes})} tasks, {failed} episodes not graded; "
        f"recorded from {times[0]} to {times[-1]}."
    )


if __name__ == "__main__":
    cli()
