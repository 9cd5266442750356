"""API keys: made, listed, revoked."""

import sys
from typing import Annotated, Any

import typer

from grading import keys
from grading.cli.context import operator
from grading.cli.output import AsJson, dump, say, show
from grading.clock import to_rfc3339
from grading.keys import SCOPES, NewKey
from grading.models import ApiKey

app = typer.Typer(help="API keys: make, list, revoke.", no_args_is_help=True)

COLUMNS = ("prefix", "project", "name", "scopes", "rate_per_minute", "in_flight_max", "created_at", "used_at")


def _view(row: ApiKey) -> dict[str, Any]:
    return {
        "id": row.id,
        "prefix": row.prefix,
        "project": row.project_id,
        "name": row.name,
        "scopes": row.scopes,
        "rate_per_minute": row.rate_per_minute,
        "in_flight_max": row.in_flight_max,
        "created_at": to_rfc3339(row.created_at_ms),
        "used_at": to_rfc3339(row.used_at_ms),
        "revoked_at": to_rfc3339(row.revoked_at_ms),
    }


@app.command("make")
def make(
    project: Annotated[str, typer.Argument(help="Whose objects the key may see.")],
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    scope: Annotated[list[str] | None, typer.Option(help="read, submit or admin (includes both); several.")] = None,
    rate_per_minute: Annotated[int | None, typer.Option(min=1, help="Requests a minute.")] = None,
    in_flight_max: Annotated[int | None, typer.Option(min=1, help="Unfinished submissions at once.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key (scopes read and submit by default). It is shown now and never again."""
    try:
        new = NewKey(project, name, tuple(scope or SCOPES[:2]), rate_per_minute, in_flight_max)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--scope") from error
    with operator() as here:
        row, token = keys.make_key(here.db, new)
    if as_json:
        dump({**_view(row), "key": token})
        return
    say(token)
    about = f"Key {row.prefix} of project {project}, scopes {', '.join(row.scopes)}."
    typer.echo(f"{about} Keep it: it is not shown again.", err=True)


@app.command("adopt")
def adopt(
    project: Annotated[str, typer.Argument(help="Whose objects the key may see.")],
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    scope: Annotated[list[str] | None, typer.Option(help="read, submit or admin (includes both); several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take the key that standard input holds, as a set-up made it; nothing happens where it is known."""
    token = sys.stdin.readline().strip()
    try:
        new = NewKey(project, name, tuple(scope or SCOPES[:2]))
        with operator() as here:
            row = keys.adopt_key(here.db, new, token)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="standard input or --scope") from error
    show([_view(row)], COLUMNS, as_json=as_json, empty="")


@app.command("list")
def list_(
    project: Annotated[str | None, typer.Option(help="Of this project only.")] = None,
    revoked: Annotated[bool, typer.Option("--revoked", help="Revoked ones too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List keys by their prefixes; the secret halves are not kept."""
    with operator() as here:
        rows = [_view(row) for row in keys.list_keys(here.db, project, revoked=revoked)]
    columns = (*COLUMNS, "revoked_at") if revoked else COLUMNS
    show(rows, columns, as_json=as_json, empty="No keys.")


@app.command("revoke")
def revoke(
    key: Annotated[list[str], typer.Argument(help="Prefixes (kg_…) or ids.")],
    as_json: AsJson = False,
) -> None:
    """Revoke keys for good; requests with them are refused within a second."""
    with operator() as here:
        rows = [_view(keys.revoke_key(here.db, name)) for name in key]
    show(rows, ("prefix", "project", "name", "revoked_at"), as_json=as_json, empty="")
