"""How identifiers look in paths: what cannot be one is nowhere, and never reaches the database."""

from typing import Any

from flask import Flask
from werkzeug.routing import BaseConverter

ID_PATTERN = "[0-9A-Za-z_]{1,40}"


class ObjectIdConverter(BaseConverter):
    """The id of an episode, a submission or a batch."""

    regex = ID_PATTERN


def install_converters(app: Flask) -> None:
    """Make `<id:...>` known to the app's routes."""
    app.url_map.converters["id"] = ObjectIdConverter


def id_schema(converter: ObjectIdConverter) -> dict[str, Any]:
    """How the OpenAPI document describes an id."""
    return {"type": "string", "pattern": f"^{ID_PATTERN}$"}
