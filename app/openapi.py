"""The OpenAPI 3.1 document, generated from the routes and schemas."""

import http
import json
from functools import cached_property
from typing import Any

from flask import Flask, Response
from flask_smorest import Api

from app.context import current
from app.document import finish
from app.problems import MEDIA_TYPE
from app.routing import CONVERTERS, install_converters, path_schema
from app.schemas.batches import BatchItem
from app.schemas.common import ProblemSchema
from app.version import API_VERSION

DESCRIPTION = """Grades GPU kernels on KernelBench tasks.

A submission's `status` is its lifecycle, its `verdict` the outcome. A bad kernel is never an HTTP error: it ends as
`completed` with a verdict and a number as `reward`. A submission that could not be graded has no verdict and a null
reward. Refused requests answer `application/problem+json` (RFC 9457)."""


class GraderApi(Api):
    """flask-smorest's Api whose refusals are problem details; `app.problems` renders them."""

    ERROR_SCHEMA = ProblemSchema

    def _register_responses(self) -> None:
        def refusal(description: str) -> dict[str, Any]:
            return {"description": description, "content": {MEDIA_TYPE: {"schema": self.ERROR_SCHEMA}}}

        for status in http.HTTPStatus:
            self.spec.components.response(status.name, refusal(status.phrase), lazy=True)
        self.spec.components.response("DEFAULT_ERROR", refusal("Any other refusal"), lazy=True)

    def _register_error_handlers(self) -> None:
        """Left to `app.problems`, which knows more kinds of error."""

    @cached_property
    def _finished(self) -> str:
        """Made once, with the first request, when all routes are there."""
        self.spec.components.schema("BatchItem", schema=BatchItem)
        return json.dumps(finish(self.spec.to_dict(), current()), indent=1)

    def _openapi_json(self) -> Response:
        return Response(self._finished, mimetype="application/json")


def install_openapi(app: Flask) -> GraderApi:
    """Serve `/openapi.json`; blueprints are then registered with what this returns."""
    app.config.update(
        API_TITLE="Kernel Grader",
        API_VERSION=API_VERSION,
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX="/",
        OPENAPI_JSON_PATH="openapi.json",
        API_SPEC_OPTIONS={"info": {"description": DESCRIPTION}},
    )
    install_converters(app)
    api = GraderApi(app)
    for converter in CONVERTERS.values():
        api.register_converter(converter, path_schema)
    return api
