"""Hints between processes: what ended, what was cancelled. They only make things quicker, and may be lost."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import redis
from structlog import get_logger

from grading.breaker import Breaker
from grading.models import Submission

log = get_logger(__name__)

TIMEOUT_S = 0.5
ENDED = "ended"
CANCELLED = "cancelled"


def channel(redis_url: str, name: str) -> str:
    """Channels are shared by all databases of a Redis server: name the database in them."""
    database = urlsplit(redis_url).path.strip("/") or "0"
    return f"kernel-grader:{database}:{name}"


class Publisher:
    """Sends hints within half a second or not at all. Thread-safe."""

    def __init__(self, redis_url: str) -> None:
        self._url = redis_url
        self._breaker = Breaker()
        self._client = redis.Redis.from_url(
            redis_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None
        )

    def ended(self, submission: Submission) -> None:
        """Say that a submission has ended, to whoever waits for it, its episode or its batch."""
        self._publish(
            ENDED,
            {"submission": submission.id, "episode": submission.episode_id, "batch": submission.batch_id},
        )

    def cancelled(self, submission: Submission) -> None:
        """Say that a submission was cancelled, to the worker that may be running it and to its waiters."""
        self._publish(CANCELLED, {"submission": submission.id})
        self.ended(submission)

    def _publish(self, name: str, message: dict[str, Any]) -> None:
        if self._breaker.open:
            return
        try:
            self._client.publish(channel(self._url, name), json.dumps(message))
        except (redis.RedisError, OSError) as error:
            log.warning("hint_not_sent", hint=name, error=repr(error))
            self._breaker.failed()
        else:
            self._breaker.succeeded()


def hints(redis_url: str, name: str = ENDED) -> Iterator[dict[str, Any] | None]:
    """Block and yield each hint as it comes; None first, when listening has begun, and whenever nothing came for 5 s.

    Raises redis.RedisError or OSError when the connection is lost.
    """
    client = redis.Redis.from_url(redis_url, socket_timeout=15, socket_connect_timeout=2, health_check_interval=10)
    with client.pubsub(ignore_subscribe_messages=True) as listener:  # type: ignore[no-untyped-call]
        listener.subscribe(channel(redis_url, name))
        yield None
        while True:
            message = listener.get_message(timeout=5)
            yield json.loads(message["data"]) if message else None
