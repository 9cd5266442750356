"""What every request handler may use: settings, database, tasks, bells, hints, logs and waiters of this process."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import cast

import redis
from flask import Flask, current_app
from sqlalchemy import select
from sqlalchemy.orm import defer

from app import metrics
from app.auth import Gate
from app.bodies import BodyReader
from app.hangups import Hangups
from app.hints import HintListener
from app.limiting import RateLimits
from app.services.gauges import DatabaseCollector
from app.services.queue_estimate import QueueEstimates
from app.turnstile import Turnstile
from app.waiters import Room, Waiters
from evaluator.tasks import Catalogue
from evaluator.tasks.task import Device
from grading import events
from grading.celery_app import make_celery
from grading.db import Database
from grading.logs import EvaluationLog
from grading.models import Batch, Submission
from grading.queue import BackgroundRinger, Ringer
from grading.secret import server_secret
from grading.settings import Settings
from grading.states import UNFINISHED

KEY = "kernel_grader"
CONNECTIONS = 16
THREADS = 1024  # of a gunicorn worker
WAITERS_MAX = THREADS - 64  # the rest answers everybody who does not wait
WORKING_MAX = 8  # no more than there are connections to the database
READ_CHUNK = 500
PING_TIMEOUT_S = 0.5
ENDED_COLUMNS = [column for column in Submission.__table__.columns if column.name not in ("code", "log")]


@dataclass(frozen=True)
class Context:
    """One per process; everything in it may be used from many threads at once."""

    settings: Settings
    db: Database
    tasks: Catalogue
    secret: bytes
    bells: BackgroundRinger
    hints: events.Publisher
    log: EvaluationLog
    gate: Gate
    limits: RateLimits
    turnstile: Turnstile
    bodies: BodyReader
    hangups: Hangups
    waiting: Room
    waiters: Waiters[Submission]
    batch_waiters: Waiters[Batch]
    queue: QueueEstimates
    gauges: DatabaseCollector

    def stop_waiting(self) -> None:
        """Answer all waiting clients at once, because the process is to end."""
        self.waiters.close()
        self.batch_waiters.close()

    @property
    def task_device(self) -> Device:
        """The device whose sizes tasks are shown with."""
        return "cuda" if self.settings.evaluator == "gpu" else "cpu"

    def broker_up(self) -> bool:
        """Whether the broker answers within half a second."""
        client = redis.Redis.from_url(
            self.settings.redis_url,
            socket_timeout=PING_TIMEOUT_S,
            socket_connect_timeout=PING_TIMEOUT_S,
            retry=None,
        )
        with client:
            try:
                return bool(client.ping())
            except (redis.RedisError, OSError):
                return False


def make_context(settings: Settings) -> Context:
    """Read the tasks and prepare connections; nothing is connected yet. Raises SettingsError or TaskSetError."""
    db = Database(settings.database_url, pool_size=CONNECTIONS)
    turnstile = Turnstile(WORKING_MAX)
    waiting = Room(WAITERS_MAX, metrics.waiting.inc, metrics.waiting.dec)
    hints = HintListener(partial(events.hints, settings.redis_url))
    waiters = Waiters(partial(ended_submissions, db), waiting, hints.start)
    batch_waiters = Waiters(partial(batches, db), waiting, hints.start)
    hints.pass_on("submission", waiters.note)
    hints.pass_on("batch", batch_waiters.note)
    return Context(
        settings=settings,
        db=db,
        tasks=Catalogue(settings.kernelbench_dir, settings.added_tasks_dir),
        secret=server_secret(settings),
        bells=BackgroundRinger(Ringer(make_celery(settings), db)),
        hints=events.Publisher(settings.redis_url),
        log=EvaluationLog(settings.eval_log),
        gate=Gate(settings, db),
        limits=RateLimits(settings.redis_url),
        turnstile=turnstile,
        bodies=BodyReader(settings.body_s, turnstile.outside),
        hangups=Hangups(),
        waiting=waiting,
        waiters=waiters,
        batch_waiters=batch_waiters,
        queue=QueueEstimates(db),
        gauges=DatabaseCollector(db),
    )


def ended_submissions(db: Database, ids: Collection[str]) -> dict[str, Submission]:
    """Those of `ids` that have ended, without source and log.

    Plain rows with a submission's attributes: when a thousand end at once, making objects of them takes its time.
    """
    found: dict[str, Submission] = {}
    wanted = list(ids)
    with db.read() as session:
        for start in range(0, len(wanted), READ_CHUNK):
            rows = session.execute(
                select(*ENDED_COLUMNS).where(
                    Submission.id.in_(wanted[start : start + READ_CHUNK]), Submission.status.not_in(UNFINISHED)
                )
            )
            found.update((row.id, cast(Submission, row)) for row in rows)
    return found


def batches(db: Database, ids: Collection[str]) -> dict[str, Batch]:
    """The batches with these ids, with their number of endings."""
    with db.read() as session:
        rows = session.scalars(select(Batch).where(Batch.id.in_(ids)).options(defer(Batch.refused)))
        return {row.id: row for row in rows}


def install(app: Flask, context: Context) -> None:
    """Make the context reachable from the app's requests."""
    app.extensions[KEY] = context


def current() -> Context:
    """The context of the app that handles this request."""
    found: Context = current_app.extensions[KEY]
    return found
