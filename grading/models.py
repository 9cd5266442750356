"""The tables. `grading.jobs` alone writes to them; everybody may read."""

from collections.abc import Sequence
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Enum,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    bindparam,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.orm.util import AliasedClass
from sqlalchemy.sql.elements import ColumnElement

from evaluator.verdicts import Stage, Verdict
from grading.states import (
    CLAIMED,
    UNFINISHED,
    WAITING,
    AttemptEnd,
    EpisodeStatus,
    SlotRole,
    SlotState,
    SubmissionStatus,
)

Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
NAME = String(200)

WAITING_SQL = text("status IN ('queued', 'ready')")
UNFINISHED_SQL = text("status IN ('queued', 'compiling', 'ready', 'running')")
DANGEROUS_SQL = text("gpu_faults >= 2")
COMPLETED_SQL = text("status = 'completed'")
CORRECT_SQL = text("verdict = 'correct'")
REGRADE_SQL = text("regrade_of IS NOT NULL")
BUILD_SQL = text("build_claimed_at_ms IS NOT NULL")
CLAIMED_SQL = text("status IN ('compiling', 'running')")


def enum(kind: Any) -> Enum:
    """Enums are stored by value as plain text: adding a member must not need a migration of a type."""
    return Enum(
        kind, native_enum=False, create_constraint=False, length=24, values_callable=lambda k: [m.value for m in k]
    )


class Base(DeclarativeBase):
    """Times end in `_ms` and are the database's clock in milliseconds since 1970."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        int: BigInteger,
        dict[str, Any]: Json,
        list[str]: Json,
        str: NAME,
        SubmissionStatus: enum(SubmissionStatus),
        EpisodeStatus: enum(EpisodeStatus),
        AttemptEnd: enum(AttemptEnd),
        SlotRole: enum(SlotRole),
        SlotState: enum(SlotState),
        Stage: enum(Stage),
        Verdict: enum(Verdict),
    }


class Episode(Base):
    """One task, up to `max_turns` verdicts. `turns_used` counts verdicts, so the present turn is one more."""

    __tablename__ = "episodes"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[str]
    run_id: Mapped[str | None]
    task_id: Mapped[str]
    split: Mapped[str | None]
    seed: Mapped[int | None]
    language: Mapped[str]
    problem: Mapped[str] = mapped_column(Text)
    max_turns: Mapped[int]
    reward_mode: Mapped[str]
    partial_credit: Mapped[bool]
    labels: Mapped[dict[str, Any]]
    status: Mapped[EpisodeStatus]
    turns_used: Mapped[int]
    best_speedup: Mapped[float | None]
    created_at_ms: Mapped[int]
    active_at_ms: Mapped[int]
    finished_at_ms: Mapped[int | None]

    __table_args__ = (
        Index("ix_episodes_run", "project_id", "run_id", "id"),
        Index("ix_episodes_project", "project_id", "id"),
        Index("ix_episodes_idle", "active_at_ms", postgresql_where=text("status = 'active'"),
              sqlite_where=text("status = 'active'")),
    )  # fmt: skip

    @property
    def turn(self) -> int:
        """The turn that the next verdict will be for, at most `max_turns`."""
        return min(self.turns_used + 1, self.max_turns)

    @property
    def done(self) -> bool:
        return self.status is not EpisodeStatus.ACTIVE


class Batch(Base):
    """A group of submissions; `endings` numbers them in the order in which they ended.

    `refused` maps the place of each item that was not taken in to what is told about it, with its own ending.
    """

    __tablename__ = "batches"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[str]
    run_id: Mapped[str | None]
    size: Mapped[int]
    endings: Mapped[int]
    refused: Mapped[dict[str, Any]]
    created_at_ms: Mapped[int]


class Submission(Base):
    """One source for one task and everything that became of it.

    `key_id` is the API key that sent it, `regrade_of` the submission that it grades again. `log` is read
    on its own only. `builds` is what a builder made of it (`grading.jobs.builds`).
    """

    __tablename__ = "submissions"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[str]
    episode_id: Mapped[str | None] = mapped_column(ForeignKey("episodes.id"))
    batch_id: Mapped[str | None] = mapped_column(ForeignKey("batches.id"))
    custom_id: Mapped[str | None]
    batch_index: Mapped[int | None]
    batch_ending: Mapped[int | None]
    key_id: Mapped[str | None] = mapped_column(String(40))
    regrade_of: Mapped[str | None] = mapped_column(String(40))
    run_id: Mapped[str | None]
    task_id: Mapped[str]
    language: Mapped[str]
    code: Mapped[str] = mapped_column(Text)
    code_sha: Mapped[str] = mapped_column(String(12))
    seed_key: Mapped[str] = mapped_column(String(64))
    turn: Mapped[int | None]
    reward_mode: Mapped[str]
    partial_credit: Mapped[bool]
    labels: Mapped[dict[str, Any]]

    # the wait: `lane` groups rows that compete as one for fairness; `queue` is where this row's one bell was rung
    status: Mapped[SubmissionStatus]
    priority: Mapped[int]
    gpu_kind: Mapped[str | None]
    needs_build: Mapped[bool]
    lane: Mapped[str] = mapped_column(Text)
    queue: Mapped[str | None]
    rung_at_ms: Mapped[int | None]
    deadline_at_ms: Mapped[int]

    # the claim
    attempt: Mapped[int]
    fence: Mapped[int]
    losses: Mapped[int]
    gpu_faults: Mapped[int]
    slot_id: Mapped[str | None]
    excluded_slot_id: Mapped[str | None]
    lease_until_ms: Mapped[int | None]
    claimed_at_ms: Mapped[int | None]
    build_claimed_at_ms: Mapped[int | None]
    builds: Mapped[dict[str, Any] | None]
    phase: Mapped[str | None]

    # the outcome
    stage: Mapped[Stage | None]
    verdict: Mapped[Verdict | None]
    reward: Mapped[float | None]
    speedup: Mapped[float | None]
    result: Mapped[dict[str, Any] | None]
    log: Mapped[str | None] = mapped_column(Text, deferred=True)
    environment: Mapped[dict[str, Any] | None]
    phases: Mapped[dict[str, Any] | None]
    error_code: Mapped[str | None]
    error_title: Mapped[str | None]
    error_detail: Mapped[str | None] = mapped_column(Text)
    error_retryable: Mapped[bool | None]
    deduped_from: Mapped[str | None]
    created_at_ms: Mapped[int]
    started_at_ms: Mapped[int | None]
    finished_at_ms: Mapped[int | None]

    __table_args__ = (
        Index("uq_submissions_verdict_per_turn", "episode_id", "turn", unique=True,
              postgresql_where=text("status = 'completed'"), sqlite_where=text("status = 'completed'")),
        Index("uq_submissions_unfinished_per_episode", "episode_id", unique=True,
              postgresql_where=UNFINISHED_SQL, sqlite_where=UNFINISHED_SQL),
        Index("ix_submissions_lane", "lane", "id", postgresql_where=WAITING_SQL, sqlite_where=WAITING_SQL),
        Index("ix_submissions_bell", "queue", "rung_at_ms", postgresql_where=WAITING_SQL, sqlite_where=WAITING_SQL),
        Index("ix_submissions_lease", "lease_until_ms", postgresql_where=CLAIMED_SQL, sqlite_where=CLAIMED_SQL),
        Index("ix_submissions_slot", "slot_id", postgresql_where=CLAIMED_SQL, sqlite_where=CLAIMED_SQL),
        Index("ix_submissions_deadline", "deadline_at_ms", postgresql_where=UNFINISHED_SQL,
              sqlite_where=UNFINISHED_SQL),
        Index("ix_submissions_dangerous", "code_sha", "finished_at_ms", postgresql_where=DANGEROUS_SQL,
              sqlite_where=DANGEROUS_SQL),
        Index("ix_submissions_served", "project_id", "run_id", "claimed_at_ms"),
        Index("ix_submissions_project_served", "project_id", "claimed_at_ms"),
        Index("ix_submissions_build_served", "project_id", "run_id", "build_claimed_at_ms",
              postgresql_where=BUILD_SQL, sqlite_where=BUILD_SQL),
        Index("ix_submissions_project_build_served", "project_id", "build_claimed_at_ms",
              postgresql_where=BUILD_SQL, sqlite_where=BUILD_SQL),
        Index("ix_submissions_list", "project_id", "run_id", "id"),
        Index("ix_submissions_episode", "episode_id", "id"),
        Index("ix_submissions_batch", "batch_id", "batch_ending"),
        Index("ix_submissions_project", "project_id", "id"),
        Index("ix_submissions_finished", "finished_at_ms"),
        Index("ix_submissions_key", "key_id", postgresql_where=UNFINISHED_SQL, sqlite_where=UNFINISHED_SQL),
        Index("ix_submissions_source", "project_id", "run_id", "code_sha", postgresql_where=COMPLETED_SQL,
              sqlite_where=COMPLETED_SQL),
        Index("ix_submissions_best", "project_id", "task_id", "speedup", postgresql_where=CORRECT_SQL,
              sqlite_where=CORRECT_SQL),
        Index("ix_submissions_regrade", "regrade_of", postgresql_where=REGRADE_SQL, sqlite_where=REGRADE_SQL),
    )  # fmt: skip

    @property
    def waits_for_build(self) -> bool:
        return self.needs_build and self.status is SubmissionStatus.QUEUED


def status_among(
    statuses: Sequence[SubmissionStatus], row: type[Submission] | AliasedClass[Submission] = Submission
) -> ColumnElement[bool]:
    """A condition with its values written out: no planner proves from parameters that a partial index applies."""
    return row.status.in_(bindparam(None, list(statuses), expanding=True, literal_execute=True))


IS_WAITING = status_among(WAITING)
IS_CLAIMED = status_among(CLAIMED)
IS_UNFINISHED = status_among(UNFINISHED)


class Attempt(Base):
    """One claim of a submission: by which slot, under which fence, and how it ended."""

    __tablename__ = "attempts"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    number: Mapped[int]
    fence: Mapped[int]
    kind: Mapped[str]
    slot_id: Mapped[str]
    incarnation: Mapped[str]
    started_at_ms: Mapped[int]
    ended_at_ms: Mapped[int | None]
    outcome: Mapped[AttemptEnd | None]
    code: Mapped[str | None]
    detail: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (UniqueConstraint("submission_id", "fence", name="uq_attempts_fence"),)


class Slot(Base):
    """One GPU (or CPU evaluator) or builder that takes work, known by a name that outlives its worker and host name.

    `lanes` grades may run there at once. `held` is an operator's drain, which outlives the worker. `probe` is what the
    last look at the device found, `fault` the last fault and `faults` how many there were.
    """

    __tablename__ = "slots"

    id: Mapped[str] = mapped_column(NAME, primary_key=True)
    kind: Mapped[str]
    evaluator: Mapped[str]
    host: Mapped[str]
    number: Mapped[int]
    queue: Mapped[str]
    incarnation: Mapped[str]
    state: Mapped[SlotState]
    reason: Mapped[str | None] = mapped_column(Text)
    lease_until_ms: Mapped[int]
    environment: Mapped[dict[str, Any]]
    registered_at_ms: Mapped[int]
    state_at_ms: Mapped[int]
    role: Mapped[SlotRole] = mapped_column(default=SlotRole.GRADER)
    lanes: Mapped[int] = mapped_column(default=1)
    held: Mapped[bool] = mapped_column(default=False)
    faults: Mapped[int] = mapped_column(default=0)
    fault: Mapped[str | None] = mapped_column(Text)
    fault_at_ms: Mapped[int | None]
    probe: Mapped[dict[str, Any] | None]
    probed_at_ms: Mapped[int | None]


class Canary(Base):
    """One look of a slot's canary at its device, with a summary of those before it; see `evaluator.judge.canary`."""

    __tablename__ = "canaries"

    slot_id: Mapped[str] = mapped_column(NAME, primary_key=True)
    at_ms: Mapped[int] = mapped_column(primary_key=True)
    found: Mapped[dict[str, Any]]


class BuildProduct(Base):
    """A file that a builder made, by the SHA-256 of its content; the least recently used ones are forgotten."""

    __tablename__ = "build_products"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    size_bytes: Mapped[int]
    content: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    used_at_ms: Mapped[int]

    __table_args__ = (Index("ix_build_products_used", "used_at_ms"),)


class ApiKey(Base):
    """A key to the API. `prefix` is its public half, by which it is found; of the secret half there is only a hash.

    `scopes` are among `grading.keys.SCOPES`; None in a limit means the installation's own.
    """

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[str]
    name: Mapped[str]
    prefix: Mapped[str] = mapped_column(String(40))
    secret_sha: Mapped[str] = mapped_column(String(64))
    scopes: Mapped[list[str]]
    rate_per_minute: Mapped[int | None]
    in_flight_max: Mapped[int | None]
    created_at_ms: Mapped[int]
    used_at_ms: Mapped[int | None]
    revoked_at_ms: Mapped[int | None]

    __table_args__ = (UniqueConstraint("prefix", name="uq_api_keys_prefix"),)


class IdempotencyKey(Base):
    """What a client's Idempotency-Key made: written in the same transaction as the object."""

    __tablename__ = "idempotency_keys"

    owner: Mapped[str] = mapped_column(NAME, primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    request_sha: Mapped[str] = mapped_column(String(64))
    object_id: Mapped[str] = mapped_column(String(40))
    created_at_ms: Mapped[int]

    __table_args__ = (Index("ix_idempotency_keys_age", "created_at_ms"),)
