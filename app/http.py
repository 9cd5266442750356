"""HTTP habits that several routes share: how long to wait, idempotency keys, headers of answers."""

from collections.abc import Mapping
from typing import Any

from flask import request
from werkzeug.http import parse_dict_header

from app.auth import current_project
from app.context import Context
from app.services.submissions import Answer
from grading.jobs import Idempotency

CROWDED_RETRY_S = 1


def wait_seconds(ctx: Context, query: Mapping[str, Any]) -> tuple[float, dict[str, str]]:
    """(seconds, headers that say so): `?wait=`, else `Prefer: wait=`, clamped to the cap; 0 without either."""
    cap = ctx.settings.wait_max_s
    if query.get("wait") is not None:
        return min(query["wait"], cap), {}
    preferred = parse_dict_header(request.headers.get("Prefer", "")).get("wait")
    if preferred is None or not preferred.isascii() or not preferred.isdigit():
        return 0.0, {}
    wait_s = min(float(preferred[:9]), cap)
    return wait_s, {"Preference-Applied": f"wait={wait_s:g}"}


def idempotency(headers: Mapping[str, Any]) -> Idempotency | None:
    """What the client's key stands for: this very request to this very path."""
    key = headers.get("idempotency_key")
    if key is None:
        return None
    return Idempotency(current_project(), key, request.path.encode() + b"\n" + request.get_data(cache=True))


def created_headers(location: str, *, replayed: bool) -> dict[str, str]:
    """Headers of an answer that created something, or answers for what was created before."""
    return {"Location": location} | ({"Idempotency-Replayed": "true"} if replayed else {})


def waited_headers(answer: Answer, applied: Mapping[str, str]) -> dict[str, str]:
    """Headers of an answer that may have waited."""
    return dict(applied) | ({"Retry-After": str(CROWDED_RETRY_S)} if answer.crowded else {})
