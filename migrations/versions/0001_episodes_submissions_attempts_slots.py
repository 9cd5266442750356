"""Episodes, submissions, attempts, slots: the states of a grade and the indexes that keep it unique."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
WAITING = "status IN ('queued', 'ready')"
CLAIMED = "status IN ('compiling', 'running')"
UNFINISHED = "status IN ('queued', 'compiling', 'ready', 'running')"


def required(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def optional(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def text(length: int = 200) -> sa.String:
    return sa.String(length)


def index(name: str, table: str, columns: list[str], where: str | None = None, *, unique: bool = False) -> None:
    condition = sa.text(where) if where else None
    op.create_index(name, table, columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


def upgrade() -> None:
    create_batches()
    create_episodes()
    create_idempotency_keys()
    create_slots()
    create_submissions()
    create_attempts()


def create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("id", text(40), primary_key=True),
        required("project_id", text()),
        optional("run_id", text()),
        required("size", sa.BigInteger()),
        required("endings", sa.BigInteger()),
        required("refused", JSON),
        required("created_at_ms", sa.BigInteger()),
    )


def create_episodes() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", text(40), primary_key=True),
        required("project_id", text()),
        optional("run_id", text()),
        required("task_id", text()),
        optional("split", text()),
        optional("seed", sa.BigInteger()),
        required("language", text()),
        required("problem", sa.Text()),
        required("max_turns", sa.BigInteger()),
        required("reward_mode", text()),
        required("partial_credit", sa.Boolean()),
        required("labels", JSON),
        required("status", text(24)),
        required("turns_used", sa.BigInteger()),
        optional("best_speedup", sa.Double()),
        required("created_at_ms", sa.BigInteger()),
        required("active_at_ms", sa.BigInteger()),
        optional("finished_at_ms", sa.BigInteger()),
    )
    index("ix_episodes_idle", "episodes", ["active_at_ms"], "status = 'active'")
    index("ix_episodes_run", "episodes", ["project_id", "run_id", "id"])


def create_idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("owner", text(), primary_key=True),
        sa.Column("key", text(255), primary_key=True),
        required("request_sha", text(64)),
        required("object_id", text(40)),
        required("created_at_ms", sa.BigInteger()),
    )
    index("ix_idempotency_keys_age", "idempotency_keys", ["created_at_ms"])


def create_slots() -> None:
    op.create_table(
        "slots",
        sa.Column("id", text(), primary_key=True),
        required("kind", text()),
        required("evaluator", text()),
        required("host", text()),
        required("number", sa.BigInteger()),
        required("queue", text()),
        required("incarnation", text()),
        required("state", text(24)),
        optional("reason", sa.Text()),
        required("lease_until_ms", sa.BigInteger()),
        required("environment", JSON),
        required("registered_at_ms", sa.BigInteger()),
        required("state_at_ms", sa.BigInteger()),
    )


def create_submissions() -> None:
    op.create_table(
        "submissions",
        sa.Column("id", text(40), primary_key=True),
        required("project_id", text()),
        sa.Column("episode_id", text(40), sa.ForeignKey("episodes.id")),
        sa.Column("batch_id", text(40), sa.ForeignKey("batches.id")),
        optional("custom_id", text()),
        optional("batch_ending", sa.BigInteger()),
        optional("run_id", text()),
        required("task_id", text()),
        required("language", text()),
        required("code", sa.Text()),
        required("code_sha", text(12)),
        required("seed_key", text(64)),
        optional("turn", sa.BigInteger()),
        required("reward_mode", text()),
        required("partial_credit", sa.Boolean()),
        required("labels", JSON),
        required("status", text(24)),
        required("priority", sa.BigInteger()),
        optional("gpu_kind", text()),
        required("needs_build", sa.Boolean()),
        required("lane", sa.Text()),
        optional("queue", text()),
        optional("rung_at_ms", sa.BigInteger()),
        required("deadline_at_ms", sa.BigInteger()),
        required("attempt", sa.BigInteger()),
        required("fence", sa.BigInteger()),
        required("losses", sa.BigInteger()),
        required("gpu_faults", sa.BigInteger()),
        optional("slot_id", text()),
        optional("excluded_slot_id", text()),
        optional("lease_until_ms", sa.BigInteger()),
        optional("claimed_at_ms", sa.BigInteger()),
        optional("phase", text()),
        optional("stage", text(24)),
        optional("verdict", text(24)),
        optional("reward", sa.Double()),
        optional("result", JSON),
        optional("environment", JSON),
        optional("phases", JSON),
        optional("error_code", text()),
        optional("error_title", text()),
        optional("error_detail", sa.Text()),
        optional("error_retryable", sa.Boolean()),
        optional("deduped_from", text()),
        required("created_at_ms", sa.BigInteger()),
        optional("started_at_ms", sa.BigInteger()),
        optional("finished_at_ms", sa.BigInteger()),
    )
    table = "submissions"
    index("uq_submissions_verdict_per_turn", table, ["episode_id", "turn"], "status = 'completed'", unique=True)
    index("uq_submissions_unfinished_per_episode", table, ["episode_id"], UNFINISHED, unique=True)
    index("ix_submissions_lane", table, ["lane", "id"], WAITING)
    index("ix_submissions_bell", table, ["queue", "rung_at_ms"], WAITING)
    index("ix_submissions_lease", table, ["lease_until_ms"], CLAIMED)
    index("ix_submissions_slot", table, ["slot_id"], CLAIMED)
    index("ix_submissions_deadline", table, ["deadline_at_ms"], UNFINISHED)
    index("ix_submissions_served", table, ["project_id", "run_id", "claimed_at_ms"])
    index("ix_submissions_project_served", table, ["project_id", "claimed_at_ms"])
    index("ix_submissions_list", table, ["project_id", "run_id", "id"])
    index("ix_submissions_episode", table, ["episode_id", "id"])
    index("ix_submissions_batch", table, ["batch_id", "batch_ending"])


def create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", text(40), primary_key=True),
        sa.Column("submission_id", text(40), sa.ForeignKey("submissions.id", ondelete="CASCADE"), nullable=False),
        required("number", sa.BigInteger()),
        required("fence", sa.BigInteger()),
        required("kind", text()),
        required("slot_id", text()),
        required("incarnation", text()),
        required("started_at_ms", sa.BigInteger()),
        optional("ended_at_ms", sa.BigInteger()),
        optional("outcome", text(24)),
        optional("code", text()),
        optional("detail", sa.Text()),
        sa.UniqueConstraint("submission_id", "fence", name="uq_attempts_fence"),
    )


def downgrade() -> None:
    for table in ("attempts", "submissions", "slots", "idempotency_keys", "episodes", "batches"):
        op.drop_table(table)
