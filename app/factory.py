"""Puts the web application together."""

from functools import partial

from flask import Flask, Response

from app.api import BLUEPRINTS
from app.api.docs import docs_blueprint
from app.bodies import limit_answer
from app.context import Context, install
from app.limiting import tell_what_is_left
from app.metrics import install_metrics
from app.openapi import install_openapi
from app.problems import register_error_handlers
from app.version import API_VERSION

BODY_BYTES_MAX = 1024 * 1024


def create_app(context: Context) -> Flask:
    """The application over one context; tests make theirs with settings of their own."""
    app = Flask("app", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_BYTES_MAX
    app.json.sort_keys = False  # type: ignore[attr-defined]
    install(app, context)
    install_metrics(app)
    register_error_handlers(app)
    api = install_openapi(app)
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    app.register_blueprint(docs_blueprint())
    app.after_request(_name_version)
    app.after_request(tell_what_is_left)
    app.after_request(partial(limit_answer, context.settings.answer_s))
    app.after_request(context.bodies.discard_rest)  # the first of them to run
    return app


def _name_version(response: Response) -> Response:
    response.headers["API-Version"] = API_VERSION
    return response
