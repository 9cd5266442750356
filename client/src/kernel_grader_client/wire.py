"""How a call becomes an HTTP request and a response a reply; the same for both clients."""

from __future__ import annotations

import os
from typing import Any

import httpx

from kernel_grader_client.errors import KernelGraderError
from kernel_grader_client.steps import Call, Reply

# an answer that is held back for S seconds may come a little later: the time-out must not be quicker
MARGIN_S = 20.0
CONNECT_S = 10.0
CONNECTIONS_MAX = 1200
VERSION = "0.1.0"
URL = "http://127.0.0.1:8000"


def options(url: str | None, api_key: str | None) -> dict[str, Any]:
    """Arguments of an httpx client; what is None comes from KERNEL_GRADER_URL and KERNEL_GRADER_KEY.

    Raises KernelGraderError for what is no URL.
    """
    url = url or os.environ.get("KERNEL_GRADER_URL") or URL
    if not url.startswith(("http://", "https://")):  # repeating would not make it one
        raise KernelGraderError(f"{url!r} is no address of a server: write http://HOST:PORT or https://HOST")
    api_key = api_key or os.environ.get("KERNEL_GRADER_KEY")
    headers = {"User-Agent": f"kernel-grader-client/{VERSION}", "Accept": "application/json, */*"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    return {
        "base_url": url.rstrip("/"),
        "headers": headers,
        "limits": httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX),
        "follow_redirects": False,
    }


def arguments(call: Call) -> dict[str, Any]:
    """Arguments of `httpx.Client.request`."""
    headers = {} if call.idempotency_key is None else {"Idempotency-Key": call.idempotency_key}
    given: dict[str, Any] = {"method": call.method, "url": call.path, "headers": headers}
    if call.params:
        given["params"] = dict(call.params)
    if call.json is not None:
        given["json"] = call.json
    timeout = httpx.Timeout(call.wait_s + MARGIN_S, connect=CONNECT_S, pool=None)
    return {**given, "timeout": timeout}


def reply(response: httpx.Response) -> Reply:
    """The body as JSON where it is JSON, else as text."""
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    is_json = media_type == "application/json" or media_type.endswith("+json")
    try:
        body = response.json() if is_json else response.text
    except ValueError:
        body = response.text
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, body, headers)
