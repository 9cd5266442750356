"""What an operator wants to know first: does each part of this installation work, and if not, what to do."""

from collections.abc import Callable, Iterator

from grading.db import Database
from grading.doctor.check import Check
from grading.doctor.host import compiler, disk, gpu, isolation, tasks
from grading.doctor.queue import reaper, workers
from grading.doctor.storage import broker, clock, database, keys, migrations
from grading.settings import Settings

__all__ = ["Check", "examine"]

HOST: tuple[Callable[[Settings], Check], ...] = (gpu, compiler, isolation, tasks, disk)
SHARED: tuple[Callable[[Settings, Database], Check], ...] = (clock, keys, workers, reaper)


def examine(settings: Settings) -> Iterator[Check]:
    """Every check in turn, as it is done; those that need the database are left out where it does not answer."""
    db = Database(settings.database_url, pool_size=1)
    try:
        answers = database(settings, db)
        yield answers
        if not answers.failed:
            current = migrations(settings, db)
            yield current
            for look in SHARED if not current.failed else ():
                yield look(settings, db)
    finally:
        db.dispose()
    yield broker(settings)
    for look_here in HOST:
        yield look_here(settings)
