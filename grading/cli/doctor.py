"""Whether each part of the installation works, and what to do where it does not."""

from dataclasses import asdict

import typer

from grading.cli.output import AsJson, dump, say, show
from grading.doctor import examine
from grading.settings import load


def doctor(as_json: AsJson = False) -> None:
    """Look at database, migrations, clock, keys, workers, reaper, broker, GPU, compilers, walls, tasks and disk.

    Exit code 1 where something failed; a warning is none.
    """
    checks = list(examine(load()))
    if as_json:
        dump([asdict(check) for check in checks])
    else:
        show([asdict(check) for check in checks], ("name", "state", "detail"), as_json=False, empty="")
        for check in checks:
            if check.remedy:
                say(f"\n{check.name}: {check.remedy}")
    if any(check.failed for check in checks):
        raise typer.Exit(1)
