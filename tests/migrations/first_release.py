"""What the first release left behind: its rows and its answers, as its own code made them.

`first_release.json` was made by running the release that knew migration 0001 alone, its API and its worker, and sending
it requests, then killing it and reading its tables. It wrote no batches yet, though it had the table: that row is ours.
"""

import json
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, Table, select

from grading.clock import now_ms
from grading.db import Database
from grading.migrate import MIGRATIONS

FIRST = "0001"
# each before those that refer to it
TABLES = ("episodes", "batches", "submissions", "attempts", "slots", "idempotency_keys")
# as far from now as they were when the rows were read; leases have run out, as they do while workers are replaced
RUNNING_OUT = {"deadline_at_ms", "active_at_ms"}

Rows = dict[str, list[dict[str, Any]]]
SAVED: dict[str, Any] = json.loads((Path(__file__).parent / "first_release.json").read_text())
# by what they are for, in order: the ids that the release gave its episodes and submissions
ANSWERS: dict[str, dict[str, Any]] = SAVED["answers"]


def migrate(db: Database, revision: str) -> None:
    """Bring the schema to a revision, from wherever it is."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    with db.engine.connect() as connection:
        config.attributes["connection"] = connection
        is_older = _tables(db).keys() > set(TABLES) and revision == FIRST
        (command.downgrade if is_older else command.upgrade)(config, revision)


def fill(db: Database) -> Rows:
    """Write the saved rows into tables of the first release; returns them as written."""
    with db.read() as session:
        later_ms = now_ms(session) - int(SAVED["made_at_ms"])
    rows = {
        name: [
            {key: value + later_ms if key in RUNNING_OUT and value else value for key, value in row.items()}
            for row in SAVED["tables"][name]
        ]
        for name in TABLES
    }
    tables = _tables(db)
    with db.write() as session:
        for name in TABLES:
            session.execute(tables[name].insert(), rows[name])
    return read(db)


def read(db: Database) -> Rows:
    """All rows of the first release's tables."""
    tables = _tables(db)
    with db.read() as session:
        return {
            name: [
                dict(row)
                for row in session.execute(select(tables[name]).order_by(*tables[name].primary_key)).mappings()
            ]
            for name in TABLES
        }


def _tables(db: Database) -> dict[str, Table]:
    """As the database has them at present."""
    found = MetaData()
    found.reflect(db.engine)
    return {table.name: table for table in found.sorted_tables if table.name != "alembic_version"}
