"""Slots know their lanes and their health; API keys, of which only a hash is kept."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def slot_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("lanes", sa.BigInteger(), nullable=False, server_default="1"),
        sa.Column("held", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("faults", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("fault", sa.Text()),
        sa.Column("fault_at_ms", sa.BigInteger()),
        sa.Column("probe", JSON),
        sa.Column("probed_at_ms", sa.BigInteger()),
    ]


def upgrade() -> None:
    for column in slot_columns():
        op.add_column("slots", column)
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("project_id", sa.String(200), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("prefix", sa.String(40), nullable=False),
        sa.Column("secret_sha", sa.String(64), nullable=False),
        sa.Column("scopes", JSON, nullable=False),
        sa.Column("rate_per_minute", sa.BigInteger()),
        sa.Column("in_flight_max", sa.BigInteger()),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger()),
        sa.Column("revoked_at_ms", sa.BigInteger()),
        sa.UniqueConstraint("prefix", name="uq_api_keys_prefix"),
    )


def downgrade() -> None:
    op.drop_table("api_keys")
    for column in reversed(slot_columns()):
        op.drop_column("slots", column.name)
