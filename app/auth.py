"""Who sends a request: the API key behind it, and the project whose objects it may see."""

import hashlib
import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from flask import g, request

from app.error_codes import ErrorCode
from app.problems import Problem
from grading.db import Database
from grading.keys import SCOPES, allows, find_key
from grading.models import ApiKey
from grading.settings import Settings

DEFAULT_PROJECT = "default"
SCHEME = "bearer"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="kernel-grader"'}
# a revoked key is refused after this time at the latest; without it every request would be one more query
TRUSTED_S = 1.0
CACHED_MAX = 1024


@dataclass(frozen=True)
class Identity:
    """`owner` is whose Idempotency-Keys a request uses; limits of None are no limits."""

    project_id: str
    owner: str
    scopes: tuple[str, ...]
    key_id: str | None = None
    rate_per_minute: int | None = None
    in_flight_max: int | None = None


# without keys there is one project, and it owns everything
ANYBODY = Identity(DEFAULT_PROJECT, DEFAULT_PROJECT, SCOPES)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; names other than localhost, and no address, are no loopback."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def keys_required(settings: Settings) -> bool:
    """`KERNEL_ENV_AUTH`, else whether the API is to listen beyond the loopback."""
    return not is_loopback(settings.bind) if settings.auth is None else settings.auth


class Gate:
    """Finds out who sends a request. One per process; thread-safe."""

    def __init__(self, settings: Settings, db: Database, now_s: Callable[[], float] = time.monotonic) -> None:
        self.required = keys_required(settings)
        self._settings, self._db, self._now_s = settings, db, now_s
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[float, Identity]] = {}

    def identify(self) -> Identity:
        """The sender of the present request. Raises Problem (401)."""
        if not self.required:
            # a server that was bound elsewhere behind our back must not serve strangers
            if request.remote_addr and not is_loopback(request.remote_addr):
                raise _unauthorized("This server has no API keys and answers its own machine only.")
            return ANYBODY
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != SCHEME or not token.strip():
            raise _unauthorized("Send `Authorization: Bearer <key>`.")
        found = self._find(token.strip())
        if found is None:
            raise _unauthorized("The API key is not known here, or was revoked.")
        return found

    def _find(self, token: str) -> Identity | None:
        name, now = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest(), self._now_s()
        with self._lock:
            until, known = self._known.get(name, (0.0, ANYBODY))
        if now < until:
            return known
        row = find_key(self._db, token)
        with self._lock:
            self._known.pop(name, None)
            if row is None:
                return None
            if len(self._known) >= CACHED_MAX:
                self._known.clear()
            identity = self._identity(row)
            self._known[name] = now + TRUSTED_S, identity
        return identity

    def _identity(self, row: ApiKey) -> Identity:
        settings = self._settings
        return Identity(
            project_id=row.project_id,
            owner=row.id,
            scopes=tuple(row.scopes),
            key_id=row.id,
            rate_per_minute=row.rate_per_minute or settings.rate_per_minute,
            in_flight_max=row.in_flight_max or settings.in_flight_max,
        )


def admit(gate: Gate, scope: str) -> None:
    """Let the request pass and remember who sent it. Raises Problem (401, 403)."""
    g.identity = identity = gate.identify()
    if not allows(identity.scopes, scope):
        raise Problem(ErrorCode.FORBIDDEN, f"This needs a key with the scope `{scope}`.")


def identity() -> Identity:
    """Who sent the present request."""
    found: Identity = g.identity
    return found


def current_project() -> str:
    """The id of the project that the request acts for."""
    return identity().project_id


def _unauthorized(detail: str) -> Problem:
    return Problem(ErrorCode.UNAUTHORIZED, detail, headers=CHALLENGE)
