"""RFC 9457 problem details: how every refusal of the API looks, and how any exception becomes one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from flask import Flask, Response
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from structlog import get_logger
from werkzeug.exceptions import HTTPException

from app import metrics
from app.error_codes import ErrorCode
from grading.errors import DomainError

log = get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 2
_BY_STATUS = {
    401: ErrorCode.UNAUTHORIZED,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    413: ErrorCode.BODY_TOO_LARGE,
    415: ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    422: ErrorCode.INVALID,
}
_BY_CODE = {kind.code: kind for kind in ErrorCode}


@dataclass(frozen=True)
class FieldError:
    """`pointer` is a JSON pointer into the body (`#/code`), or `?name` for a query parameter."""

    pointer: str
    detail: str


@dataclass
class Problem(Exception):
    """Raise it anywhere below a route to refuse the request."""

    kind: ErrorCode
    detail: str
    errors: Sequence[FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind.code}: {self.detail}"

    def body(self) -> dict[str, Any]:
        return {
            "type": f"urn:kernel-grader:{self.kind.code}",
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
            "code": self.kind.code,
            "retryable": self.kind.retryable,
            "errors": [{"pointer": e.pointer, "detail": e.detail} for e in self.errors],
        }

    def response(self) -> Response:
        metrics.refusals.labels(self.kind.code).inc()
        headers = dict(self.headers)
        if self.kind.status in (429, 503):
            headers.setdefault("Retry-After", str(RETRY_AFTER_S))
        return Response(json.dumps(self.body()), self.kind.status, headers, mimetype=MEDIA_TYPE)


def _from_http(error: HTTPException) -> Response:
    """Werkzeug's own refusals (no such path, method, body too large), with the headers that they carry."""
    status = error.code or 500
    if status < 400:  # a redirect
        return cast(Response, error.get_response())
    kind = _BY_STATUS.get(status, ErrorCode.INTERNAL if status >= 500 else ErrorCode.BAD_REQUEST)
    headers = {name: value for name, value in error.get_headers() if name.lower() in ("allow", "retry-after")}
    return Problem(kind, error.description or kind.title, headers=headers).response()


def domain_problem(code: str, detail: str) -> Problem:
    """A refusal by the rules of episodes, submissions and batches; their codes are ours."""
    return Problem(_BY_CODE.get(code, ErrorCode.CONFLICT), f"{detail[:1].upper()}{detail[1:]}.")


def _from_domain(error: DomainError) -> Response:
    return domain_problem(error.code, error.detail).response()


def _database_away(error: Exception) -> Response:
    log.warning("database_unavailable", error=str(error).splitlines()[0])
    return Problem(ErrorCode.UNAVAILABLE, "The database did not answer; try again.").response()


def _unexpected(error: Exception) -> Response:
    log.exception("unhandled_exception", error=repr(error))
    return Problem(ErrorCode.INTERNAL, "The server met an unexpected error, which was logged.").response()


def register_error_handlers(app: Flask) -> None:
    """Answer every exception with a problem; nothing is ever rendered as HTML."""
    app.register_error_handler(Problem, Problem.response)
    app.register_error_handler(HTTPException, _from_http)
    app.register_error_handler(DomainError, _from_domain)
    for away in (OperationalError, InterfaceError, PoolTimeoutError):
        app.register_error_handler(away, _database_away)
    app.register_error_handler(Exception, _unexpected)
