"""A server that speaks OpenAI's chat protocol; what it answers is scripted by the test."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Said:
    """One answer: a text, or an error with this status."""

    text: str = ""
    finish: str = "stop"
    status: int = 200


@dataclass
class ScriptedModel:
    """`script` is asked with each request's body; `asked` keeps the bodies in order of arrival."""

    script: Callable[[dict[str, Any]], Said]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, key: str | None, body: dict[str, Any]) -> Said:
        with self.lock:
            self.asked.append(body)
            self.keys.add(key)
            return self.script(body)


@contextmanager
def scripted_model(script: Callable[[dict[str, Any]], Said]) -> Iterator[ScriptedModel]:
    """Serve until the end of the block; the script is never called twice at once."""
    model = ScriptedModel(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/v1/chat/completions"
            said = model.answer(self.headers.get("Authorization"), body)
            told = {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": said.finish,
                        "message": {"role": "assistant", "content": said.text},
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": len(said.text.split()), "total_tokens": 1},
            }
            error = {"error": {"message": f"scripted {said.status}", "type": "scripted", "code": None, "param": None}}
            data = json.dumps(told if said.status == 200 else error).encode()
            self.send_response(said.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After-Ms", "1")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
