"""Bringing a database to the present schema, and telling whether it is there."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from grading.db import Database

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(db: Database) -> None:
    """Apply every migration that is missing. May be called by several processes at once."""
    config = _config()
    with db.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def missing(db: Database) -> tuple[str | None, str | None]:
    """The database's revision and the newest one; the two are equal where nothing is missing."""
    with db.engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current, ScriptDirectory.from_config(_config()).get_current_head()
