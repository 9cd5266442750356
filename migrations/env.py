"""Alembic's entry: runs the migrations against the configured database, one process at a time."""

from alembic import context
from sqlalchemy import Connection, text

from grading.db import Database
from grading.models import Base
from grading.settings import load

MIGRATION_LOCK = 0x6B67_6D69_6772


def run() -> None:
    """Migrate over the connection that the caller gave, else over one of our own."""
    given = context.config.attributes.get("connection")
    if given is not None:
        migrate(given)
        return
    settings = load()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    database = Database(settings.database_url)
    with database.engine.connect() as connection:
        migrate(connection)
    database.dispose()


def migrate(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        # two installers at once: the second waits, then finds nothing to do
        connection.execute(text("SET lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK})
        connection.commit()
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": MIGRATION_LOCK})
        connection.execute(text("RESET lock_timeout"))
        connection.commit()


run()
