"""What the canary found on each slot, looks of a day or so."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "canaries",
        sa.Column("slot_id", sa.String(200), primary_key=True),
        sa.Column("at_ms", sa.BigInteger(), primary_key=True),
        sa.Column("found", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("canaries")
