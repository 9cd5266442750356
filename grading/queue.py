"""Ringing: puts a doorbell into a slot's Celery queue. It may fail, and never blocks whoever took the work in."""

import contextlib
import queue
import threading
import time
from collections.abc import Sequence

import redis
from celery import Celery
from kombu import Connection
from sqlalchemy.exc import SQLAlchemyError
from structlog import get_logger

from grading.breaker import Breaker
from grading.celery_app import BUILD, COMPILE_QUEUE, GRADE, RINGER_TIMEOUT_S, slot_queue, transport_options
from grading.db import Database
from grading.jobs.bells import Bell, assign_bells, unring

log = get_logger(__name__)

BURST = 500
PENDING_MAX = 50_000


class Ringer:
    """Rings at once, from the calling thread, within about half a second. Not for request threads."""

    def __init__(self, celery: Celery, db: Database) -> None:
        self._celery, self._db = celery, db
        self._breaker = Breaker()
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def ring_for(self, submission_ids: Sequence[str]) -> None:
        """Choose a slot for each row that waits without a bell, and ring there."""
        self.ring(assign_bells(self._db, submission_ids))

    def ring(self, bells: Sequence[Bell]) -> None:
        """Ring these bells. What cannot be rung is taken off its row again, so that it will be rung for later."""
        with self._lock:
            left = list(bells)
            while left and self._try(left[0]):
                left.pop(0)
        if left:
            log.warning("bells_not_rung", count=len(left))
            unring(self._db, left)

    def _try(self, bell: Bell) -> bool:
        if self._breaker.open:
            return False
        try:
            self._publish(bell)
        except Exception as error:  # noqa: BLE001 - the broker's client raises what it likes; the row is safe
            log.warning("ring_failed", queue=bell.queue, error=repr(error))
            self._breaker.failed()
            self._disconnect()
            return False
        self._breaker.succeeded()
        return True

    def _publish(self, bell: Bell) -> None:
        if self._connection is None:
            self._connection = self._celery.connection_for_write(
                transport_options=transport_options(RINGER_TIMEOUT_S), connect_timeout=RINGER_TIMEOUT_S
            )
        target = slot_queue(bell.queue)
        task = BUILD if bell.queue == COMPILE_QUEUE else GRADE
        self._celery.send_task(task, queue=target, connection=self._connection, retry=False, ignore_result=True)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):  # it is broken already
                connection.collect(RINGER_TIMEOUT_S)

    def close(self) -> None:
        with self._lock:
            self._disconnect()


class Backlog:
    """How many bells lie in a queue, as the broker knows. Thread-safe; asks within half a second or not at all."""

    def __init__(self, redis_url: str) -> None:
        self._breaker = Breaker()
        self._client = redis.Redis.from_url(
            redis_url, socket_timeout=RINGER_TIMEOUT_S, socket_connect_timeout=RINGER_TIMEOUT_S, retry=None
        )

    def bells_in(self, queue: str) -> int | None:
        """None where the broker does not say."""
        if self._breaker.open:
            return None
        try:
            length = self._client.llen(queue)
        except (redis.RedisError, OSError):
            self._breaker.failed()
            return None
        self._breaker.succeeded()
        return length


class BackgroundRinger:
    """Rings from a thread of its own, which starts with the first bell (after any fork).

    A bell that cannot be rung, or that is pending when the process ends, is made up for by idle slots and the reaper.
    """

    def __init__(self, ringer: Ringer) -> None:
        self._ringer = ringer
        self._pending: queue.Queue[str] = queue.Queue(PENDING_MAX)
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ring_for(self, submission_id: str) -> None:
        """Ring for a submission that has just been committed; returns at once."""
        with contextlib.suppress(queue.Full):
            self._pending.put_nowait(submission_id)
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ringer", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            burst = [self._pending.get()]
            with contextlib.suppress(queue.Empty):
                while len(burst) < BURST:
                    burst.append(self._pending.get_nowait())
            try:
                self._ringer.ring_for(burst)
            except SQLAlchemyError as error:
                log.warning("bells_not_assigned", count=len(burst), error=repr(error))
                time.sleep(0.5)
