"""The Postgres role of worker hosts: exactly what claiming, renewing, finishing and reaping need, and no keys.

A worker host is trusted with verdicts. It cannot read API keys or Idempotency-Keys, take work in, change what was
submitted (source, task, seeds, owner, reward setting), or remove anything.
"""

from collections.abc import Sequence

from psycopg import sql
from sqlalchemy import Connection

DEFAULT_NAME = "kernel_grader_worker"

READS = ("episodes", "batches", "submissions", "attempts", "slots", "build_products", "canaries", "alembic_version")
INSERTS = ("attempts", "slots", "build_products", "canaries")
# a product that is gone is built again, and the oldest looks of a canary are forgotten
DELETES = ("build_products", "canaries")
UPDATES: dict[str, tuple[str, ...]] = {
    "slots": (),  # all of it
    "build_products": ("used_at_ms",),
    "attempts": ("ended_at_ms", "outcome", "code", "detail"),
    "batches": ("endings",),
    "episodes": ("status", "turns_used", "best_speedup", "active_at_ms", "finished_at_ms"),
    "submissions": (
        *("status", "queue", "rung_at_ms", "lease_until_ms", "phase"),
        *("attempt", "fence", "losses", "gpu_faults", "slot_id", "excluded_slot_id", "claimed_at_ms"),
        *("build_claimed_at_ms", "builds", "lane"),
        *("stage", "verdict", "reward", "speedup", "result", "log", "environment", "phases"),
        *("error_code", "error_title", "error_detail", "error_retryable"),
        *("started_at_ms", "finished_at_ms", "batch_ending"),
    ),
}


def statements(role: str, *, schema: str = "public", password: str | None = None) -> list[sql.Composed]:
    """SQL that makes the role, or brings it to these rights; may be run again, by whoever owns the tables."""
    name = sql.Identifier(role)
    made = [
        sql.SQL(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {}) THEN CREATE ROLE {} LOGIN; "
            "END IF; END $$"
        ).format(sql.Literal(role), name)
    ]
    if password is not None:
        made.append(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(password)))
    where = sql.Identifier(schema)
    made.append(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(where, name))
    made.append(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(where, name))
    made += [_grant(sql.SQL("SELECT"), schema, table, name) for table in READS]
    made += [_grant(sql.SQL("INSERT"), schema, table, name) for table in INSERTS]
    made += [_grant(sql.SQL("DELETE"), schema, table, name) for table in DELETES]
    made += [_grant(_update(columns), schema, table, name) for table, columns in UPDATES.items()]
    return made


def text(connection: Connection, made: Sequence[sql.Composed]) -> str:
    """The statements as a script; the connection says how its server quotes."""
    raw = connection.connection.dbapi_connection
    return "".join(f"{statement.as_string(raw)};\n" for statement in made)  # type: ignore[arg-type]


def apply(connection: Connection, made: Sequence[sql.Composed]) -> None:
    """Run the statements in one transaction."""
    with connection.begin():
        for statement in made:
            cursor = connection.connection.cursor()
            cursor.execute(statement)
            cursor.close()


def _update(columns: Sequence[str]) -> sql.Composable:
    if not columns:
        return sql.SQL("UPDATE")
    return sql.SQL("UPDATE ({})").format(sql.SQL(", ").join(map(sql.Identifier, columns)))


def _grant(right: sql.Composable, schema: str, table: str, role: sql.Identifier) -> sql.Composed:
    return sql.SQL("GRANT {} ON {} TO {}").format(right, sql.Identifier(schema, table), role)
