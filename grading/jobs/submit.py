"""Taking a submission in: checked against its episode, recorded as queued, and only then to be rung for."""

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from evaluator.reward import RewardMode
from evaluator.submission import Language
from grading.clock import now_ms
from grading.db import Database
from grading.errors import EpisodeFinished, TurnConflict
from grading.ids import SUBMISSION, new_id
from grading.jobs.dedupe import reuse_verdict
from grading.jobs.episodes import lock_episode
from grading.jobs.idempotency import Created, Idempotency, create_once
from grading.jobs.queue_lanes import lane
from grading.jobs.quota import require_room
from grading.jobs.sources import code_sha
from grading.models import IS_UNFINISHED, Episode, Submission
from grading.states import EpisodeStatus, Priority, SubmissionStatus


@dataclass(frozen=True)
class NewSubmission:
    """A source for an episode's present turn, or for a task on its own; exactly one of the two ids is given.

    What an episode decides (task, language, run, reward) is taken from it where this leaves it open. With `dedupe`, an
    equal source of the same run lends its verdict. `key_id` is the API key that sends it, with its quota.
    """

    project_id: str
    code: str
    episode_id: str | None = None
    task_id: str | None = None
    turn: int | None = None
    language: Language | None = None
    reward_mode: RewardMode = "speedup"
    partial_credit: bool = False
    priority: Priority = Priority.NORMAL
    gpu_kind: str | None = None
    deadline_s: float = 3600.0
    run_id: str | None = None
    labels: dict[str, Any] = field(default_factory=dict)
    dedupe: bool = False
    key_id: str | None = None
    in_flight_max: int | None = None

    def __post_init__(self) -> None:
        if (self.episode_id is None) == (self.task_id is None):
            raise ValueError("a submission names an episode or a task, and not both")


def submit(
    db: Database, secret: bytes, new: NewSubmission, idempotency: Idempotency | None = None
) -> Created[Submission]:
    """Record a submission as queued; ring for it after this returns, unless a reused verdict has ended it.

    `secret` is the server's: the submission's hidden seeds come from HMAC(secret, id). Raises NotFound (no such
    episode in this project), TurnConflict, EpisodeFinished, QuotaExceeded or IdempotencyMismatch.
    """

    def make(session: Session) -> Submission:
        require_room(session, new.key_id, new.in_flight_max)
        episode = None
        if new.episode_id is not None:
            episode = lock_episode(session, new.episode_id, new.project_id)
            require_turn(session, episode, new.turn)
        submission = new_row(new, episode, secret, now_ms(session))
        session.add(submission)
        if new.dedupe:
            reuse_verdict(session, submission, episode)
        session.flush()
        return submission

    try:
        return create_once(db, Submission, idempotency, make)
    except IntegrityError as error:
        # the unique index is the last word where two transactions could not see each other
        if "uq_submissions_unfinished_per_episode" in str(error) or "submissions.episode_id" in str(error):
            raise TurnConflict("another submission of this episode is in flight") from error
        raise


def require_turn(session: Session, episode: Episode, turn: int | None) -> None:
    """Raises EpisodeFinished or TurnConflict where a locked episode takes no submission for this turn now."""
    if episode.status is not EpisodeStatus.ACTIVE:
        raise EpisodeFinished(f"the episode is {episode.status}")
    if turn is not None and turn != episode.turn:
        raise TurnConflict(f"the episode is at turn {episode.turn}, not {turn}")
    in_flight = select(Submission.id).where(
        Submission.episode_id == episode.id, IS_UNFINISHED
    )
    if (other := session.scalar(in_flight)) is not None:
        raise TurnConflict(f"submission {other} of this episode is in flight")


def new_row(new: NewSubmission, episode: Episode | None, secret: bytes, now: int) -> Submission:
    """The row of a submission that has just come in, for its locked episode where it has one; not added yet."""
    submission_id = new_id(SUBMISSION)
    language = new.language or (episode.language if episode else "triton")
    builds = language == "cuda"
    run_id = new.run_id or (episode.run_id if episode else None)
    if episode is not None:
        episode.active_at_ms = now
    return Submission(
        id=submission_id,
        project_id=new.project_id,
        episode_id=new.episode_id,
        run_id=run_id,
        task_id=episode.task_id if episode else new.task_id,
        language=language,
        code=new.code,
        code_sha=code_sha(new.code),
        seed_key=seed_key(secret, submission_id),
        turn=episode.turn if episode else None,
        reward_mode=episode.reward_mode if episode else new.reward_mode,
        partial_credit=episode.partial_credit if episode else new.partial_credit,
        labels=new.labels,
        key_id=new.key_id,
        status=SubmissionStatus.QUEUED,
        priority=int(new.priority),
        gpu_kind=new.gpu_kind,
        needs_build=builds,
        lane=lane(int(new.priority), new.gpu_kind, new.project_id, run_id, builds=builds),
        deadline_at_ms=now + round(new.deadline_s * 1000),
        attempt=0,
        fence=0,
        losses=0,
        gpu_faults=0,
        created_at_ms=now,
    )


def seed_key(secret: bytes, submission_id: str) -> str:
    """Hex HMAC-SHA256(secret, submission id): the root of this submission's hidden seeds."""
    return hmac.new(secret, submission_id.encode(), hashlib.sha256).hexdigest()
