"""Tells whoever watches Celery's events, such as Flower, which submission a task grades."""

import contextlib
from typing import Any

from celery import Celery
from structlog import get_logger

from grading.breaker import Breaker
from grading.celery_app import RINGER_TIMEOUT_S, transport_options
from grading.jobs import Claim

log = get_logger(__name__)


class Watchers:
    """Sends events within about half a second or not at all: a grade must not wait, let alone fail, for its audience.

    Celery's own `send_event` retries on the worker's connection and then raises, which would lose the claim.
    """

    def __init__(self, celery: Celery) -> None:
        self._celery = celery
        self._breaker = Breaker()
        self._dispatcher: Any = None

    def grading(self, task: Any, claim: Claim) -> None:
        """Say that this running task grades this claim."""
        if self._breaker.open:
            return
        told = repr({"submission": claim.submission_id, "attempt": claim.attempt})
        try:
            self._connect(task.request.hostname)
            self._dispatcher.send("task-grading", uuid=task.request.id, kwargs=told, retry=False)
        except Exception as error:  # noqa: BLE001 - the broker's client raises what it likes; nothing depends on it
            log.warning("event_not_sent", error=repr(error))
            self._breaker.failed()
            self._disconnect()
        else:
            self._breaker.succeeded()

    def _connect(self, hostname: str) -> None:
        if self._dispatcher is None:
            connection = self._celery.connection_for_write(
                transport_options=transport_options(RINGER_TIMEOUT_S), connect_timeout=RINGER_TIMEOUT_S
            )
            self._dispatcher = self._celery.events.Dispatcher(
                connection, hostname=hostname, buffer_while_offline=False
            )

    def _disconnect(self) -> None:
        dispatcher, self._dispatcher = self._dispatcher, None
        if dispatcher is not None:
            with contextlib.suppress(Exception):  # it is broken already
                dispatcher.connection.collect(RINGER_TIMEOUT_S)
