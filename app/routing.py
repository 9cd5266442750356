"""How identifiers look in paths: what cannot be one is nowhere, and never reaches the database."""

from typing import Any

from flask import Flask
from werkzeug.routing import BaseConverter

ID_PATTERN = "[0-9A-Za-z_]{1,40}"
TASK_ID_PATTERN = r"[0-9A-Za-z_.\-]{1,64}/[0-9A-Za-z_.\-]{1,200}"
RUN_ID_PATTERN = r"[^/\u0000-\u001f\u007f]{1,128}"


class ObjectIdConverter(BaseConverter):
    """The id of an episode, a submission or a batch."""

    regex = ID_PATTERN


class TaskIdConverter(BaseConverter):
    """The id of a task, which holds one slash."""

    regex = TASK_ID_PATTERN
    part_isolating = False


class RunIdConverter(BaseConverter):
    """The name of a run."""

    regex = RUN_ID_PATTERN


CONVERTERS: dict[str, type[BaseConverter]] = {"id": ObjectIdConverter, "task": TaskIdConverter, "run": RunIdConverter}


def install_converters(app: Flask) -> None:
    """Make `<id:...>`, `<task:...>` and `<run:...>` known to the app's routes."""
    app.url_map.converters.update(CONVERTERS)


def path_schema(converter: BaseConverter) -> dict[str, Any]:
    """How the OpenAPI document describes what stands in a path."""
    return {"type": "string", "pattern": f"^{converter.regex}$"}
