"""Find sources that took down two devices: they are not run again for a while."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

INDEX, TABLE = "ix_submissions_dangerous", "submissions"


def upgrade() -> None:
    condition = sa.text("gpu_faults >= 2")
    op.create_index(
        INDEX, TABLE, ["code_sha", "finished_at_ms"], postgresql_where=condition, sqlite_where=condition
    )


def downgrade() -> None:
    op.drop_index(INDEX, TABLE)
