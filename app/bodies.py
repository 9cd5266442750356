"""Reads request bodies, whole and within a time, and has answers read within one.

What nobody has read of a body is thrown away before the answer: a server that closes a connection on which bytes still
arrive resets it, and the client may lose the very answer that says why it was refused.
"""

import contextlib
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager

from flask import Request, Response, request
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from app.deadlines import ReadDeadlines, Reading
from app.error_codes import ErrorCode
from app.problems import Problem

DISCARD_BYTES_MAX = 64 * 1024 * 1024  # twice the largest batch; who sends more than that is cut off
DISCARD_CHUNK_BYTES = 256 * 1024


class BodyReader:
    """Gives each body the same time, `limit_s`.

    `meanwhile` is entered while a body is read, which may take as long as the client likes.
    """

    def __init__(
        self, limit_s: float, meanwhile: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    ) -> None:
        self._deadlines, self._meanwhile = ReadDeadlines(limit_s), meanwhile

    def read(self, request: Request) -> bytes:
        """The whole body, kept for who asks again. Raises Problem (408) where it takes too long."""
        with self._meanwhile(), self._timed(request.environ.get("gunicorn.socket")) as reading:
            try:
                body = request.get_data(cache=True)
                _require_whole(request, body)
            except (ClientDisconnected, OSError):
                if reading is None or not reading.late:
                    raise
            except ParseException as error:
                raise Problem(ErrorCode.BAD_REQUEST, f"The body is not well chunked: {error}.") from None
        if reading is not None and reading.late:
            raise Problem(ErrorCode.BODY_TOO_SLOW, f"The body did not arrive within {self._deadlines.limit_s:g} s.")
        return body

    def discard_rest(self, response: Response) -> Response:
        """An after-request hook: read what is left of the body, within the same time, and keep nothing of it."""
        body, connection = request.environ["wsgi.input"], request.environ.get("gunicorn.socket")
        announced = request.content_length
        if connection is not None and announced != 0 and (announced or 0) <= DISCARD_BYTES_MAX:
            with self._timed(connection), contextlib.suppress(OSError, ParseException):
                for _ in range(DISCARD_BYTES_MAX // DISCARD_CHUNK_BYTES):
                    if not body.read(DISCARD_CHUNK_BYTES):
                        break
        return response

    def _timed(self, connection: socket.socket | None) -> AbstractContextManager[Reading | None]:
        return contextlib.nullcontext() if connection is None else self._deadlines.watching(connection)


def limit_answer(limit_s: float, response: Response) -> Response:
    """An after-request hook: a client that does not read its answer must not keep a thread.

    The server below makes the connection wait without end again before it reads the next request.
    """
    connection = request.environ.get("gunicorn.socket")
    if connection is not None:
        connection.settimeout(limit_s)
    return response


def _require_whole(request: Request, body: bytes) -> None:
    """Raises for less than was announced, and for more than is allowed where nothing was announced.

    Neither the server nor werkzeug says so: both hand out what there is.
    """
    announced, most = request.content_length, request.max_content_length
    if announced is not None and len(body) < announced:
        raise ClientDisconnected
    if announced is None and most is not None and len(body) >= most and request.environ["wsgi.input"].read(1):
        raise RequestEntityTooLarge
