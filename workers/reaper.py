"""`python -m workers.reaper`: puts right what a lost process left behind. Any number may run; one acts at a time."""

import signal
import sys
import threading
import time
from types import FrameType

from structlog import get_logger

from evaluator.sandbox import protect_from_same_user
from grading import jobs
from grading.celery_app import make_celery
from grading.db import Database
from grading.events import Publisher
from grading.jobs import Reaper
from grading.logs import EvaluationLog, set_up
from grading.queue import Ringer
from grading.settings import Settings, SettingsError, load
from workers.announce import announce
from workers.runtime import TRANSIENT

log = get_logger(__name__)

EX_CONFIG = 78
PRUNE_S = 60.0


class ReaperProcess:
    """Passes every `reap_s`, each followed by the announcements and bells that are due."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._db = Database(settings.database_url, pool_size=2)
        self._reaper = Reaper(self._db, settings.leases)
        self._ringer = Ringer(make_celery(settings), self._db)
        self._publisher = Publisher(settings.redis_url)
        self._evaluations = EvaluationLog(settings.eval_log)
        self._stopping = threading.Event()
        self._prune_at = 0.0

    def stop(self, number: int, frame: FrameType | None) -> None:
        """A signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Until a signal comes."""
        while not self._stopping.wait(self._settings.leases.reap_s):
            try:
                self.run_once()
            except TRANSIENT as error:
                log.warning("reaper_without_database", error=repr(error))

    def run_once(self) -> None:
        """One pass. Raises SQLAlchemy's errors where the database is away."""
        done = self._reaper.run_once()
        if not done.acted:
            return
        announce(done, self._publisher, self._evaluations)
        self._ringer.ring_for(done.returned)
        self._ringer.ring(jobs.missing_bells(self._db))
        self._prune()

    def _prune(self) -> None:
        if time.monotonic() < self._prune_at:
            return
        self._prune_at = time.monotonic() + PRUNE_S
        if gone := jobs.prune_products(self._db, self._settings.products_bytes):
            log.info("products_forgotten", count=gone)


def main() -> int:
    try:
        settings = load()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return EX_CONFIG
    protect_from_same_user()
    set_up(settings)
    reaper = ReaperProcess(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, reaper.stop)
    reaper.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
