"""The command line of every part of the server."""

import os
import sys
from pathlib import Path

from launcher.plan import HOST, Plan
from launcher.process import Command

REPOSITORY = Path(__file__).resolve().parent.parent


def full_environment(command: Command) -> dict[str, str]:
    """The environment that a command runs in."""
    return {**os.environ, **command.env}


def migrate(plan: Plan) -> Command:
    """Brings the database to the present schema and ends."""
    return Command("migrate", [sys.executable, "-m", "launcher.migrate"], plan.environment())


def api(plan: Plan) -> Command:
    """Gunicorn, with the settings of `app.gunicorn_conf`, which also knows where to listen."""
    argv = ["-m", "gunicorn", "-c", "python:app.gunicorn_conf", "app.wsgi:app"]
    return Command("api", [sys.executable, *argv], plan.environment())


def background(plan: Plan) -> list[Command]:
    """One worker per slot, the builders, the reaper, and Flower where it was asked for."""
    commands = [_worker(plan, number) for number in plan.settings.gpus]
    commands += [_builder(plan, number) for number in range(plan.builders)]
    commands.append(Command("reaper", [sys.executable, "-m", "workers.reaper"], _without_secret(plan)))
    if plan.flower_port is not None:
        commands.append(_flower(plan, plan.flower_port))
    return commands


def _worker(plan: Plan, number: int) -> Command:
    return Command(f"worker-{number}", [sys.executable, "-m", "workers", str(number)], _without_secret(plan))


def _builder(plan: Plan, number: int) -> Command:
    argv = ["-m", "workers.builder", str(number)]
    return Command(f"builder-{number}", [sys.executable, *argv], _without_secret(plan))


def _flower(plan: Plan, port: int) -> Command:
    where = {"FLOWER_ADDRESS": HOST, "FLOWER_PORT": str(port)}
    return Command("flower", [sys.executable, "-m", "launcher.flower"], {**_without_secret(plan), **where}, quiet=True)


def _without_secret(plan: Plan) -> dict[str, str]:
    """The secret of hidden seeds is the API's alone; an empty variable counts as unset."""
    return {**plan.environment(), "KERNEL_ENV_SECRET": ""}


def note_broker(plan: Plan) -> None:
    """Leave the private broker's address, with its password, where other commands of this user find it."""
    if plan.broker is None:
        return
    note = plan.settings.data_dir / "broker.url"
    note.unlink(missing_ok=True)
    with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(plan.broker.url)


def forget_broker(plan: Plan) -> None:
    """Remove the note once the private broker has ended."""
    if plan.broker is not None:
        (plan.settings.data_dir / "broker.url").unlink(missing_ok=True)
