"""How many requests a minute one API key may send, counted in Redis; while Redis is away nobody is held back.

Made of `limits`, the engine of flask-limiter: that extension counts before the key is known, asks Redis once more for
its headers, and knows no way to leave a frozen Redis alone.
"""

import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import Response, g
from limits import RateLimitItemPerMinute
from limits.errors import StorageError
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry
from structlog import get_logger

from app.auth import Identity
from app.error_codes import ErrorCode
from app.problems import Problem
from grading.breaker import Breaker

log = get_logger(__name__)

TIMEOUT_S = 0.5
WINDOW_S = 60
NAMESPACE = "kernel-grader"


@dataclass(frozen=True)
class Left:
    """What a key may still send: `remaining` of `amount` requests until the window has passed in `reset_s`."""

    amount: int
    remaining: int
    reset_s: int

    def headers(self) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit` of the IETF draft."""
        return {
            "RateLimit-Policy": f'"requests";q={self.amount};w={WINDOW_S}',
            "RateLimit": f'"requests";r={self.remaining};t={self.reset_s}',
        }


class RateLimits:
    """Counts requests by key. A silent Redis costs a request half a second and is then left alone for a while."""

    def __init__(self, redis_url: str) -> None:
        options = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S, "retry": Retry(NoBackoff(), 0)}
        storage = RedisStorage(_storage_url(redis_url), wrap_exceptions=True, **options)  # type: ignore[arg-type]
        self._strategy = SlidingWindowCounterRateLimiter(storage)
        self._breaker = Breaker()

    def hit(self, identity: Identity) -> None:
        """Count a request. Raises Problem (429)."""
        if identity.rate_per_minute is None or self._breaker.open:
            return
        try:
            allowed, left = self._count(RateLimitItemPerMinute(identity.rate_per_minute), identity.owner)
        except StorageError as error:
            self._breaker.failed()
            log.warning("rate_not_counted", error=repr(error.storage_error))
            return
        self._breaker.succeeded()
        g.rate_left = left
        if not allowed:
            detail = f"This key may send {left.amount} requests a minute."
            raise Problem(ErrorCode.RATE_LIMITED, detail, headers={"Retry-After": str(max(left.reset_s, 1))})

    def _count(self, rate: RateLimitItemPerMinute, owner: str) -> tuple[bool, Left]:
        allowed = self._strategy.hit(rate, NAMESPACE, owner)
        window = self._strategy.get_window_stats(rate, NAMESPACE, owner)
        reset_s = max(round(window.reset_time - time.time()), 0)
        return allowed, Left(rate.amount, max(window.remaining, 0), reset_s)


def tell_what_is_left(response: Response) -> Response:
    """An after-request hook: rate limit headers on every answer to a counted request."""
    left: Left | None = g.get("rate_left")
    if left is not None:
        response.headers.update(left.headers())
    return response


def _storage_url(redis_url: str) -> str:
    """The library has a name of its own for sockets."""
    scheme = urlsplit(redis_url).scheme
    return redis_url.replace(f"{scheme}://", "redis+unix://", 1) if scheme in ("unix", "redis+socket") else redis_url
