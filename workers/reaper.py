"""`python -m workers.reaper`: puts right what a lost process left behind. Any number may run; one acts at a time.

`--check` says whether the one that runs with the same data directory still makes its passes.
"""

import argparse
import signal
import sys
import threading
import time
from pathlib import Path
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
# beyond a pass's own time: after an outage one may wait for the database, which does not make the reaper sick
STUCK_S = 60.0


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
            sign_of_life(self._settings).touch()

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


def sign_of_life(settings: Settings) -> Path:
    """The file that each pass touches."""
    return settings.data_dir / "reaper.alive"


def check(settings: Settings) -> int:
    """Exit status 1 where the last pass is too long ago."""
    file = sign_of_life(settings)
    age_s = time.time() - file.stat().st_mtime if file.exists() else None
    print("no pass yet" if age_s is None else f"last pass {age_s:.1f} s ago")
    return 0 if age_s is not None and age_s < settings.leases.reap_s + STUCK_S else 1


def main() -> int:
    """Exit code 78 for a setting that must be put right first."""
    parser = argparse.ArgumentParser(prog="python -m workers.reaper", description=__doc__)
    parser.add_argument("--check", action="store_true", help="start nothing")
    options = parser.parse_args()
    try:
        settings = load()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return EX_CONFIG
    if options.check:
        return check(settings)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    protect_from_same_user()
    set_up(settings)
    reaper = ReaperProcess(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, reaper.stop)
    reaper.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
