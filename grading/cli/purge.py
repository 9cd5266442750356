"""Retention: removes what ended long ago."""

import re
from dataclasses import asdict
from typing import Annotated

import typer

from grading import jobs
from grading.cli.context import operator
from grading.cli.output import AsJson, dump, say

UNITS_S = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
LEAST_S = 86400.0


def age_s(text: str) -> float:
    """Seconds of an age such as `30d`, `36h` or `2w`. Raises BadParameter."""
    found = re.fullmatch(r"(\d+)([hdw])", text.strip())
    if found is None:
        raise typer.BadParameter(f"an age such as 30d, 36h or 2w, not {text!r}")
    seconds = int(found[1]) * UNITS_S[found[2]]
    if seconds < LEAST_S:
        raise typer.BadParameter("at least 1d: for a day clients may ask again with the same Idempotency-Key")
    return seconds


def purge(
    older_than: Annotated[str, typer.Option(help="Age since the end, such as 30d, 36h or 2w; at least 1d.")],
    keep_results: Annotated[bool, typer.Option("--keep-results", help="Remove sources and logs only.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove submissions that ended before that, with what hangs on them. There is no way back."""
    age = age_s(older_than)
    what = "their sources and logs" if keep_results else "everything about them"
    if not dry_run and not yes:
        typer.confirm(f"Remove submissions that ended more than {older_than} ago ({what})?", abort=True)
    with operator() as here:
        done = jobs.purge(here.db, age, keep_results=keep_results, dry_run=dry_run)
    if as_json:
        dump(asdict(done))
        return
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in asdict(done).items() if count)
    say(f"{'Would remove' if dry_run else 'Removed'}: {counts or 'nothing'}.")
