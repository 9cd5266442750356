"""The Celery application: every setting in one place, each with its reason.

A message is a doorbell. Postgres holds the work, so a message may be lost, doubled or late without harm, and the
settings below are chosen for one thing: that a worker never stops listening.
"""

from functools import partial
from typing import Any

from celery import Celery
from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher
from celery.worker.consumer import Consumer
from kombu import Exchange, Queue

from evaluator.client import patience_s
from grading.settings import Settings

GRADE = "grade"
BUILD = "build"
# the one queue that all builders share
COMPILE_QUEUE = "compile"

CONSUMER_TIMEOUT_S = 5.0
RINGER_TIMEOUT_S = 0.5
RECONNECT_MAX_S = 2.0
SOFT_LIMIT_SLACK_S = 60.0
HARD_LIMIT_SLACK_S = 90.0


def transport_options(timeout_s: float) -> dict[str, Any]:
    """Options of the Redis transport; the timeout bounds connecting and every reply, in seconds."""
    return {
        # kombu 5.7.0's emulation leaks the prefetch slot when a connection goes silent during an ack: the worker then
        # answers pings and never consumes again. Unacknowledged bells need no restoring, since the reaper rings again.
        "ack_emulation": False,
        # a worker's queues in the order in which it declares them, not in turns
        "queue_order_strategy": "priority",
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        # finds peers that vanished without a word
        "socket_keepalive": True,
        "health_check_interval": 10,
        "retry_on_timeout": True,
    }


def make_celery(settings: Settings) -> Celery:
    """An application for these settings. Opens no connection."""
    app = Celery("kernel_grader", set_as_current=False, events=PromptEvents)
    app.conf.update(_SETTINGS)
    grade_s = patience_s(settings.evaluator_config())
    app.conf.update(
        broker_url=settings.redis_url,
        broker_transport_options=transport_options(CONSUMER_TIMEOUT_S),
        **task_limits(grade_s),
        # one child per lane: the judge lets one of them at a time hold the device
        worker_concurrency=settings.lanes,
        # how long a grade may go on after SIGTERM before it is handed back
        worker_soft_shutdown_timeout=settings.leases.drain_s,
    )
    return app


def task_limits(task_s: float) -> dict[str, float]:
    """Celery's limits for tasks that bound themselves: for a child that is stuck beyond that."""
    return {"task_soft_time_limit": task_s + SOFT_LIMIT_SLACK_S, "task_time_limit": task_s + HARD_LIMIT_SLACK_S}


_SETTINGS: dict[str, Any] = {
    # nothing that arrives over the network is unpickled
    "task_serializer": "json",
    "event_serializer": "json",
    "accept_content": ["json"],
    # the database has the results
    "result_backend": None,
    "task_ignore_result": True,
    # a bell is answered when its grade has ended, so that a lost worker's bell may come again
    "task_acks_late": True,
    "task_reject_on_worker_lost": True,
    # but a grade that raised or ran out of time has been recorded: ringing for it again is the reaper's decision
    "task_acks_on_failure_or_timeout": True,
    # one bell at a time: a prefetched one would wait behind a grade while other GPUs idle
    "worker_prefetch_multiplier": 1,
    # grading needs the database, not the broker: a reconnect must not kill a running grade
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_retry": True,
    "broker_connection_max_retries": None,
    "worker_consumer": "grading.celery_app:PromptConsumer",
    # workers declare their slots' queues and ringers pass a Queue; a name that nobody declared is a mistake
    "task_create_missing_queues": False,
    "task_default_queue": "unrouted",
    "task_queues": [Queue("unrouted", Exchange("unrouted"), routing_key="unrouted")],
    # ringing must not block: a failed ring is made up for
    "task_publish_retry": False,
    # what Flower shows
    "worker_send_task_events": True,
    "task_send_sent_event": True,
    # logs are ours (grading.logs), one JSON line per event
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "timezone": "UTC",
    "enable_utc": True,
}


class PromptConsumer(Consumer):  # type: ignore[misc]
    """A consumer that comes back within two seconds of its broker."""

    def ensure_connected(self, conn: Any) -> Any:
        # by default the pause grows to 30 s, which after an outage of a minute costs another dozen seconds
        conn.ensure_connection = partial(
            conn.ensure_connection, interval_start=0.2, interval_step=0.2, interval_max=RECONNECT_MAX_S
        )
        return super().ensure_connected(conn)


class PromptDispatcher(EventDispatcher):  # type: ignore[misc]
    """Sends an event at once, or keeps it until the consumer has its broker back."""

    def send(self, type: str, **more: Any) -> Any:
        # a heartbeat would try again for ever, and hold the lock that a worker needs to say that it stops
        return super().send(type, **{**more, "retry": False})


class PromptEvents(Events):  # type: ignore[misc]
    """What makes Celery use this dispatcher."""

    dispatcher_cls = PromptDispatcher


def slot_queue(name: str) -> Queue:
    """The Celery queue of a slot, built from the name in its row alone: ringers know no list of hosts."""
    return Queue(name, Exchange(name, type="direct"), routing_key=name)
