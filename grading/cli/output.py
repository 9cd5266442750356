"""How commands answer: a table for people, JSON for programs, complaints on standard error."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Row = Mapping[str, Any]

STYLES = {
    "ok": "green",
    "ready": "green",
    "warning": "yellow",
    "starting": "yellow",
    "draining": "yellow",
    "quarantined": "red",
    "failed": "red",
    "gone": "dim",
    "lost": "red",
}


def show(rows: Sequence[Row], columns: Sequence[str], *, as_json: bool, empty: str) -> None:
    """Rows as a table of these columns, or all of each row as one JSON list."""
    if as_json:
        dump(rows)
        return
    if not rows:
        say(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    _console().print(table)


def dump(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def say(text: str) -> None:
    _console().print(text, markup=False, highlight=False)


def complain(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False, style="red")


def _console() -> Console:
    # a pipe has no width: what reads it must not find words broken
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=10_000)


def _cell(value: Any) -> Text:
    text = "" if value is None else ", ".join(value) if isinstance(value, list) else str(value)
    return Text(text, style=STYLES.get(text, ""))
