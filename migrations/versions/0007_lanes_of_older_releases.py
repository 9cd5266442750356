"""Name the lanes of rows that came in before there were builders as those of today.

Such a name began with the priority, so that rows of normal priority looked like rows to be built: builders left them
because they are not, graders because builders would come for them.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

PARTS = {"postgresql": "jsonb_array_length(lane::jsonb)", "sqlite": "json_array_length(lane)"}


def upgrade() -> None:
    parts = PARTS[op.get_bind().dialect.name]
    op.execute(f"UPDATE submissions SET lane = '[0, ' || substr(lane, 2) WHERE {parts} = 4")


def downgrade() -> None:
    """The release before this one names them so too."""
