"""Reads request bodies and parameters into schemas, strictly: bad input becomes a 4xx problem, never a 500."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import marshmallow as ma
from flask import Request
from webargs.flaskparser import FlaskParser
from werkzeug.http import parse_options_header

from app.context import current
from app.error_codes import ErrorCode
from app.problems import FieldError, Problem

DETAIL = "Some fields of the request are not valid; `errors` names each one."


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_json(body: bytes) -> Any:
    """Decode a body; raises Problem for what is not JSON, among it NaN, huge numbers and bottomless nesting."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise Problem(ErrorCode.MALFORMED_JSON, "The body is nested too deeply.") from None
    except ValueError as error:
        raise Problem(ErrorCode.MALFORMED_JSON, f"The body is not valid JSON: {error}.") from None


def _flatten(messages: Any, path: str) -> Iterator[tuple[str, str]]:
    """Walk marshmallow's nested messages down to (path, sentence) pairs."""
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            step = "" if key == ma.exceptions.SCHEMA else "/" + str(key).replace("~", "~0").replace("/", "~1")
            yield from _flatten(inner, path + step)
    elif isinstance(messages, list):
        for inner in messages:
            yield from _flatten(inner, path)
    else:
        yield path, str(messages)


def field_errors(messages: Mapping[str, Any]) -> list[FieldError]:
    """Turn webargs' {location: messages} into pointers: `#/code` for the body, `?wait` for a query parameter."""
    prefixes = {"json": "#", "query": "?", "headers": "header:"}
    found = []
    for location, inner in messages.items():
        prefix = prefixes.get(location, f"{location}:")
        for path, detail in _flatten(inner, ""):
            found.append(FieldError(prefix + (path if prefix == "#" else path.removeprefix("/")), detail))
    return found


class StrictParser(FlaskParser):
    """webargs' parser with strict JSON, a check of the media type, and problems for errors.

    A parameter that does not exist is refused: a misspelt filter must not list everything.
    """

    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, str | None] = {  # noqa: RUF012 - declared so where it comes from
        **FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION,
        "query": ma.RAISE,
    }

    def load_json(self, req: Request, schema: ma.Schema) -> Any:
        body = current().bodies.read(req)
        media_type, options = parse_options_header(req.content_type)
        if not body and not media_type:
            return {}
        charset = options.get("charset", "utf-8").lower()
        if media_type != "application/json" or charset not in ("utf-8", "utf8"):
            got = req.content_type or "none"
            raise Problem(ErrorCode.UNSUPPORTED_MEDIA_TYPE, f"Send `Content-Type: application/json`, not {got!r}.")
        return parse_json(body)

    def handle_error(
        self,
        error: ma.ValidationError,
        req: Request,
        schema: ma.Schema,
        *,
        error_status_code: int | None,
        error_headers: Mapping[str, str] | None,
    ) -> NoReturn:
        messages = error.messages if isinstance(error.messages, Mapping) else {"json": error.messages}
        raise Problem(ErrorCode.INVALID, DETAIL, errors=field_errors(messages))
