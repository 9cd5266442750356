"""Builders: slots that compile first, what they make, and when they last served whom."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

PARTS = {"postgresql": "jsonb_array_length(lane::jsonb)", "sqlite": "json_array_length(lane)"}
SERVED = "build_claimed_at_ms IS NOT NULL"
INDEXES: dict[str, list[str]] = {
    "ix_submissions_build_served": ["project_id", "run_id", "build_claimed_at_ms"],
    "ix_submissions_project_build_served": ["project_id", "build_claimed_at_ms"],
}


def upgrade() -> None:
    op.add_column("slots", sa.Column("role", sa.String(24), nullable=False, server_default="grader"))
    op.add_column("submissions", sa.Column("build_claimed_at_ms", sa.BigInteger()))
    op.add_column("submissions", sa.Column("builds", sa.JSON().with_variant(JSONB(), "postgresql")))
    for name, columns in INDEXES.items():
        op.create_index(
            name, "submissions", columns, postgresql_where=sa.text(SERVED), sqlite_where=sa.text(SERVED)
        )
    op.create_table(
        "build_products",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_build_products_used", "build_products", ["used_at_ms"])


def downgrade() -> None:
    """Say in the words of the release before what only this one knows: there, graders build for themselves."""
    parts = PARTS[op.get_bind().dialect.name]
    op.execute(f"UPDATE submissions SET lane = '[' || substr(lane, 5) WHERE {parts} = 5")
    op.execute("UPDATE submissions SET needs_build = false")
    op.execute("UPDATE attempts SET outcome = 'handed_back' WHERE outcome = 'built'")
    op.execute("DELETE FROM slots WHERE role = 'builder'")
    op.drop_table("build_products")
    for name in INDEXES:
        op.drop_index(name, "submissions")
    op.drop_column("submissions", "builds")
    op.drop_column("submissions", "build_claimed_at_ms")
    op.drop_column("slots", "role")
