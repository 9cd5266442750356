"""HTTP habits that several routes share: how long to wait, idempotency keys, headers of answers."""

import json
from collections.abc import Mapping
from typing import Any

from flask import Response, g, request
from werkzeug.http import parse_dict_header

from app.auth import identity
from app.context import Context
from app.services.submissions import Answer
from app.services.waiting import Wait
from grading.jobs import Idempotency

CROWDED_RETRY_S = 1

# headers for the document
TEXT = {"type": "string"}
WAITED: dict[str, Any] = {
    "Preference-Applied": {"description": "Where the wait came from `Prefer`.", "schema": TEXT},
    "Retry-After": {
        "description": "Too many requests wait already, so this one was answered at once; seconds.",
        "schema": {"type": "integer"},
    },
}
CREATED: dict[str, Any] = {
    "Location": {"description": "The path of the object.", "required": True, "schema": TEXT},
    "Idempotency-Replayed": {
        "description": "An earlier request with the same Idempotency-Key had made the object.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}
CREATED_AND_WAITED = CREATED | WAITED


def waiting(ctx: Context, query: Mapping[str, Any]) -> tuple[Wait, dict[str, str]]:
    """(the wait, headers that say so): `?wait=`, else `Prefer: wait=`, clamped to the cap; none without either."""
    wait, applied = _asked_wait(ctx, query)
    g.waits = wait.seconds > 0  # such a request is no measure of how quickly we answer
    return wait, applied


def _asked_wait(ctx: Context, query: Mapping[str, Any]) -> tuple[Wait, dict[str, str]]:
    cap, connection = ctx.settings.wait_max_s, request.environ.get("gunicorn.socket")
    if query.get("wait") is not None:
        return Wait(min(query["wait"], cap), connection), {}
    preferred = parse_dict_header(request.headers.get("Prefer", "")).get("wait")
    if preferred is None or not preferred.isascii() or not preferred.isdigit():
        return Wait(), {}
    wait_s = min(float(preferred[:9]), cap)
    return Wait(wait_s, connection), {"Preference-Applied": f"wait={wait_s:g}"}


def idempotency(ctx: Context, headers: Mapping[str, Any]) -> Idempotency | None:
    """What the client's key stands for: this very request to this very path."""
    key = headers.get("idempotency_key")
    if key is None:
        return None
    return Idempotency(identity().owner, key, request.path.encode() + b"\n" + ctx.bodies.read(request))


def json_answer(view: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A view as it is: where hundreds of answers are due at once, a schema's second look at each is too much.

    The schema still stands in the document, and the tests hold answers against that.
    """
    body = json.dumps(view, allow_nan=False, separators=(",", ":"))
    return Response(body, status, dict(headers or {}), mimetype="application/json")


def created_headers(location: str, *, replayed: bool) -> dict[str, str]:
    """Headers of an answer that created something, or answers for what was created before."""
    return {"Location": location} | ({"Idempotency-Replayed": "true"} if replayed else {})


def waited_headers(answer: Answer, applied: Mapping[str, str]) -> dict[str, str]:
    """Headers of an answer that may have waited."""
    return dict(applied) | ({"Retry-After": str(CROWDED_RETRY_S)} if answer.crowded else {})
