"""What commands work with: the settings of the environment and connections made from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from grading.celery_app import make_celery
from grading.db import Database
from grading.events import Publisher
from grading.logs import EvaluationLog
from grading.queue import Ringer
from grading.settings import Settings, load


@dataclass
class Operator:
    """One command's connections, made as they are needed."""

    settings: Settings
    db: Database

    @cached_property
    def ringer(self) -> Ringer:
        return Ringer(make_celery(self.settings), self.db)

    @cached_property
    def hints(self) -> Publisher:
        return Publisher(self.settings.redis_url)

    @cached_property
    def log(self) -> EvaluationLog:
        return EvaluationLog(self.settings.eval_log)


@contextmanager
def operator() -> Iterator[Operator]:
    """Raises SettingsError; the database is not asked before a command does."""
    settings = load()
    db = Database(settings.database_url, pool_size=1)
    here = Operator(settings, db)
    try:
        yield here
    finally:
        if "ringer" in vars(here):
            here.ringer.close()
        db.dispose()
