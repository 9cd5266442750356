"""What lists, batches, quotas, reuse of verdicts, regrades and leaderboards look rows up by."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

UNFINISHED = "status IN ('queued', 'compiling', 'ready', 'running')"
# name, table, columns, condition
INDEXES: list[tuple[str, str, list[str], str | None]] = [
    ("ix_episodes_project", "episodes", ["project_id", "id"], None),
    ("ix_submissions_project", "submissions", ["project_id", "id"], None),
    ("ix_submissions_finished", "submissions", ["finished_at_ms"], None),
    ("ix_submissions_key", "submissions", ["key_id"], UNFINISHED),
    ("ix_submissions_source", "submissions", ["project_id", "run_id", "code_sha"], "status = 'completed'"),
    ("ix_submissions_best", "submissions", ["project_id", "task_id", "speedup"], "verdict = 'correct'"),
    ("ix_submissions_regrade", "submissions", ["regrade_of"], "regrade_of IS NOT NULL"),
]
SPEEDUP = {
    "postgresql": "(result ->> 'speedup')::double precision",
    "sqlite": "json_extract(result, '$.speedup')",
}


def columns() -> list[sa.Column[object]]:
    return [
        sa.Column("batch_index", sa.BigInteger()),
        sa.Column("key_id", sa.String(40)),
        sa.Column("regrade_of", sa.String(40)),
        sa.Column("speedup", sa.Double()),
        sa.Column("log", sa.Text()),
    ]


def upgrade() -> None:
    for column in columns():
        op.add_column("submissions", column)
    speedup = SPEEDUP[op.get_bind().dialect.name]
    op.execute(f"UPDATE submissions SET speedup = {speedup} WHERE verdict = 'correct'")
    for name, table, keys, condition in INDEXES:
        where = None if condition is None else sa.text(condition)
        op.create_index(name, table, keys, postgresql_where=where, sqlite_where=where)


def downgrade() -> None:
    for name, table, _, _ in reversed(INDEXES):
        op.drop_index(name, table)
    for column in reversed(columns()):
        op.drop_column("submissions", column.name)
