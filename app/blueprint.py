"""The blueprint class that every resource uses: strict parsing, keys and limits, and refusals in the document."""

import functools
import http
from collections.abc import Callable
from typing import Any, TypeVar, cast

from flask import request
from flask_smorest import Blueprint

from app import auth
from app.context import current
from app.parsing import StrictParser

View = TypeVar("View", bound=Callable[..., Any])

ALWAYS = (400, 500, 503)
KEYED = (401, 403, 429)
OPEN: list[dict[str, list[str]]] = []


class ApiBlueprint(Blueprint):
    """flask-smorest's blueprint with this API's parser."""

    ARGUMENTS_PARSER = StrictParser()

    def needs(self, scope: str) -> Callable[[View], View]:
        """Admit keys with this scope, and count the request, before anything of it is read. Goes below `route`."""

        def decorate(view: View) -> View:
            @functools.wraps(view)
            def admitted(*args: Any, **kwargs: Any) -> Any:
                context = current()
                with context.turnstile.inside():
                    auth.admit(context.gate, scope)
                    context.limits.hit(auth.identity())
                    return view(*args, **kwargs)

            # where keys are in use the document demands one by default: see `app.openapi`
            documented = self.doc(operationId=view.__name__, **{"x-scope": scope})(admitted)
            return cast(View, self._refusals(KEYED)(documented))

        return decorate

    def takes(self, body_bytes_max: int) -> Callable[[View], View]:
        """Allow larger bodies than elsewhere. Goes above whatever reads the body."""

        def decorate(view: View) -> View:
            @functools.wraps(view)
            def enlarged(*args: Any, **kwargs: Any) -> Any:
                request.max_content_length = body_bytes_max
                return view(*args, **kwargs)

            return cast(View, enlarged)

        return decorate

    def open_to_all(self) -> Callable[[View], View]:
        """Answer without a key. Goes below `route`."""

        def decorate(view: View) -> View:
            return cast(View, self.doc(operationId=view.__name__, security=OPEN)(view))

        return decorate

    def problems(self, *statuses: int) -> Callable[[View], View]:
        """Document the statuses with which a route may refuse, besides those that any route may."""
        return self._refusals((*statuses, *ALWAYS))

    def _refusals(self, statuses: tuple[int, ...]) -> Callable[[View], View]:
        def decorate(view: View) -> View:
            for status in sorted(set(statuses)):
                view = cast(View, self.alt_response(status, http.HTTPStatus(status).name)(view))
            return view

        return decorate
