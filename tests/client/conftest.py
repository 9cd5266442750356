"""A whole server with the mock evaluator, and a scripted one that misbehaves on request."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from launcher.demo_server import OwnServer
from tests.services import postgres


@pytest.fixture(scope="session")
def server() -> Iterator[OwnServer]:
    with postgres.database() as url, OwnServer(KERNEL_ENV_EVALUATOR="mock", DATABASE_URL=url) as started:
        yield started


@dataclass
class Answer:
    """One scripted answer; status 0 breaks the connection off."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str, *, retryable: bool, **headers: str) -> Answer:
    body = {"status": status, "code": code, "title": code, "detail": code, "retryable": retryable, "errors": []}
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, body, {"Content-Type": "application/problem+json", **sent})


class Scripted:
    """A server that gives the next answer of a list to each request, and keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.seen: list[tuple[str, str, dict[str, str], Any]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._http.serve_forever, args=[0.05], daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                scripted.seen.append((self.command, self.path, dict(self.headers), json.loads(body) if body else None))
                answer = scripted.answers.pop(0)
                if answer.status == 0:
                    self.close_connection = True
                    return
                content = b"" if answer.body is None else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _answer

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    made = Scripted()
    yield made
    made.close()
