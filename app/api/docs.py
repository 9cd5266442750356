"""`/docs`: Swagger UI, served from the installed package, so that it works without a network."""

from flask import Blueprint
from flask_swagger_ui import get_swaggerui_blueprint


def docs_blueprint() -> Blueprint:
    """A page that shows `/openapi.json` and lets one try it."""
    blueprint: Blueprint = get_swaggerui_blueprint(
        "/docs",
        "/openapi.json",
        config={"app_name": "Kernel Grader", "validatorUrl": None, "tryItOutEnabled": True},
        blueprint_name="docs",
    )
    return blueprint
