"""`python -m launcher.flower`: Flower, which says here what a task grades and what came of it, and finds late workers.

It reads FLOWER_ADDRESS, FLOWER_PORT and all other variables of its own, with the settings of this installation.
"""

import ast
from typing import Any

from flower import command
from flower.app import Flower
from tornado.ioloop import PeriodicCallback
from tornado.options import options

from workers.app import app

# an id of Celery's tells nobody anything
COLUMNS = "name,state,kwargs,result,received,runtime,worker"
ASK_MS = 15_000


class AskingFlower(Flower):  # type: ignore[misc]
    """Flower asks workers for their queues when it starts, which is before they do; this one asks again."""

    def start(self) -> None:
        PeriodicCallback(self.update_workers, ASK_MS).start()
        super().start()


def told(task: Any) -> Any:
    """The copy of a task that Flower shows, with what it was given and returned in few words."""
    given, returned = fields(task.kwargs), fields(task.result)
    if given.get("submission"):
        task.kwargs = f"{given['submission']}, attempt {given.get('attempt')}"
    if returned:
        task.result = returned.get("verdict") or "no work left"
    return task


def fields(text: str | None) -> dict[str, Any]:
    """What Celery's events carry as text; empty where that is nothing, or cut off."""
    try:
        read = ast.literal_eval(text or "")
    except (ValueError, SyntaxError):
        return {}
    return read if isinstance(read, dict) else {}


def main() -> None:
    """Serve until told to stop."""
    options.tasks_columns = COLUMNS
    options.format_task = told
    command.Flower = AskingFlower
    app.start(["flower"])


if __name__ == "__main__":
    main()
