"""What the first release left behind: its rows and its answers, as its own code made them.

`first_release.json` was made by running the release that knew migration 0001 alone, its API and its worker, and sending
it requests, then killing it and reading its tables. It wrote no batches yet, though it had the table: that row is ours.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, Table, select

from grading.clock import now_ms, to_rfc3339
from grading.db import Database
from grading.migrate import MIGRATIONS

FIRST = "0001"
# each before those that refer to it
TABLES = ("episodes", "batches", "submissions", "attempts", "slots", "idempotency_keys")
# leases have run out, as they do while workers are replaced
LEASE_MS = 60_000

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


def fill(db: Database) -> int:
    """Write the saved rows as if they had been made just now; returns by how many ms they are later than they were."""
    with db.read() as session:
        later_ms = now_ms(session) - int(SAVED["made_at_ms"])
    tables = _tables(db)
    with db.write() as session:
        for name in TABLES:
            session.execute(tables[name].insert(), [_later(row, later_ms) for row in SAVED["tables"][name]])
    return later_ms


def _later(row: dict[str, Any], later_ms: int) -> dict[str, Any]:
    times = {key: value + later_ms for key, value in row.items() if key.endswith("_ms") and value is not None}
    if times.get("lease_until_ms") is not None:
        times["lease_until_ms"] -= LEASE_MS
    return row | times


def answered(name: str, later_ms: int) -> dict[str, Any]:
    """What the first release told of one of its objects, at a later time."""

    def later(key: str, value: Any) -> Any:
        if key.endswith("_at") and value is not None:
            return to_rfc3339(round(datetime.fromisoformat(value).timestamp() * 1000) + later_ms)
        return value

    return {key: later(key, value) for key, value in ANSWERS[name].items()}


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
