"""The blueprint class that every resource uses: strict parsing, and refusals in the document."""

import http
from collections.abc import Callable
from typing import Any, TypeVar, cast

from flask_smorest import Blueprint

from app.parsing import StrictParser

View = TypeVar("View", bound=Callable[..., Any])

ALWAYS = (400, 500, 503)


class ApiBlueprint(Blueprint):
    """flask-smorest's blueprint with this API's parser."""

    ARGUMENTS_PARSER = StrictParser()

    def problems(self, *statuses: int) -> Callable[[View], View]:
        """Document the statuses with which a route may refuse, besides those that any route may."""

        def decorate(view: View) -> View:
            for status in sorted({*statuses, *ALWAYS}):
                view = cast(View, self.alt_response(status, http.HTTPStatus(status).name)(view))
            return view

        return decorate
