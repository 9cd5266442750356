"""What a pool child grades with: its own connections, made after the fork, and the slot that it inherited."""

import os
from dataclasses import dataclass

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from structlog import get_logger

from evaluator.config import EvaluatorConfig
from grading import jobs
from grading.celery_app import make_celery
from grading.db import Database
from grading.errors import FenceLost
from grading.events import Publisher
from grading.jobs import Claim, SlotIdentity
from grading.logs import EvaluationLog
from grading.queue import Backlog, Ringer
from grading.settings import Settings
from workers.cancel import CancelWatch
from workers.watchers import Watchers

log = get_logger(__name__)

# the database is away or busy: the same call may succeed later
TRANSIENT = (OperationalError, InterfaceError, InternalError, PoolTimeout)


@dataclass(frozen=True)
class Runtime:
    """One per process. The main process has one as well, for bells and slots."""

    settings: Settings
    slot: SlotIdentity
    config: EvaluatorConfig
    db: Database
    ringer: Ringer
    publisher: Publisher
    evaluations: EvaluationLog
    cancels: CancelWatch
    backlog: Backlog
    watchers: Watchers

    def claim(self) -> Claim | None:
        """The best row for this slot, or None; also where the slot has passed to another worker."""
        try:
            return jobs.claim(self.db, self.slot.slot_id, self.slot.incarnation, self.settings.leases)
        except FenceLost as error:
            log.warning("slot_lost", detail=error.detail)
            return None

    def ring_after(self, claim: Claim) -> None:
        """Ring idle slots for what the claim left behind."""
        try:
            self.ringer.ring(jobs.bells_after_claim(self.db, claim.queue, self.slot.queue))
        except TRANSIENT as error:
            log.warning("bells_not_assigned", error=repr(error))

    def pass_on(self) -> None:
        """After a bell at which nothing was taken: ring where its row may be taken."""
        try:
            bell = jobs.bell_to_pass_on(self.db, self.slot.slot_id)
        except TRANSIENT as error:
            log.warning("bell_not_passed_on", error=repr(error))
            return
        if bell is not None:
            self.ringer.ring([bell])

    def look_for_more(self) -> None:
        """Ring our own bell if rows wait for this slot, in which the database shows an idle lane by now."""
        if self.backlog.bells_in(self.slot.queue):
            return  # the next bell is there already
        try:
            bell = jobs.bell_for_idle_slot(self.db, self.slot.slot_id, self.slot.incarnation)
        except (*TRANSIENT, FenceLost) as error:
            log.warning("look_failed", error=repr(error))
            return
        if bell is not None:
            self.ringer.ring([bell])


_slot: SlotIdentity | None = None
_settings: Settings | None = None
_runtime: Runtime | None = None
_pid: int | None = None


def prepare(settings: Settings, slot: SlotIdentity) -> Runtime:
    """In the main process: note what children inherit, and make the runtime of the main process itself."""
    global _settings, _slot, _runtime, _pid
    _settings, _slot = settings, slot
    _runtime, _pid = _make(settings, slot, forks=True), os.getpid()
    return _runtime


def runtime() -> Runtime:
    """This process's runtime, made on first use after the fork."""
    global _runtime, _pid
    if _runtime is None or _pid != os.getpid():
        if _settings is None or _slot is None:
            raise RuntimeError("start workers with `python -m workers`, which takes a slot first")
        _runtime, _pid = _make(_settings, _slot, forks=False), os.getpid()
    return _runtime


def _make(settings: Settings, slot: SlotIdentity, *, forks: bool) -> Runtime:
    db = Database(settings.database_url, pool_size=4, forks=forks)
    celery = make_celery(settings)
    return Runtime(
        settings=settings,
        slot=slot,
        config=settings.evaluator_config(slot.number),
        db=db,
        ringer=Ringer(celery, db),
        publisher=Publisher(settings.redis_url),
        evaluations=EvaluationLog(settings.eval_log),
        cancels=CancelWatch(settings.redis_url),
        backlog=Backlog(settings.redis_url),
        watchers=Watchers(celery),
    )
