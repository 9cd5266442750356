"""Opening episodes, and the look-ups with locks that everything about an episode begins with."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from evaluator.reward import RewardMode
from evaluator.submission import Language
from grading.clock import now_ms
from grading.db import Database
from grading.errors import NotFound
from grading.ids import EPISODE, new_id
from grading.jobs.idempotency import Created, Idempotency, create_once
from grading.models import Episode
from grading.states import EpisodeStatus


@dataclass(frozen=True)
class NewEpisode:
    """What the caller decided: the task is drawn and its prompt written before this."""

    project_id: str
    task_id: str
    problem: str
    max_turns: int
    language: Language = "triton"
    reward_mode: RewardMode = "speedup"
    partial_credit: bool = False
    split: str | None = None
    seed: int | None = None
    run_id: str | None = None
    labels: dict[str, Any] = field(default_factory=dict)


def create_episode(db: Database, new: NewEpisode, idempotency: Idempotency | None = None) -> Created[Episode]:
    """Open an episode. Raises IdempotencyMismatch."""

    def make(session: Session) -> Episode:
        now = now_ms(session)
        episode = Episode(
            id=new_id(EPISODE),
            **vars(new),
            status=EpisodeStatus.ACTIVE,
            turns_used=0,
            best_speedup=None,
            created_at_ms=now,
            active_at_ms=now,
            finished_at_ms=None,
        )
        session.add(episode)
        return episode

    return create_once(db, Episode, idempotency, make)


def lock_episode(session: Session, episode_id: str, project_id: str | None = None) -> Episode:
    """The episode, locked until the transaction ends: always the first lock that is taken. Raises NotFound.

    With a `project_id`, an episode of another project does not exist.
    """
    # key_share: a second UPDATE of a submission within one transaction makes Postgres check its foreign key again,
    # and a full FOR UPDATE here would block that check, against the order of locks
    query = select(Episode).where(Episode.id == episode_id).with_for_update(key_share=True)
    if project_id is not None:
        query = query.where(Episode.project_id == project_id)
    episode = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if episode is None:
        raise NotFound(f"there is no episode {episode_id}")
    return episode


def end_episode(episode: Episode, status: EpisodeStatus, now: int) -> None:
    """Give an active episode its end; an ended one keeps the end that it has."""
    if episode.status is EpisodeStatus.ACTIVE:
        episode.status = status
        episode.finished_at_ms = now


def take_turn(episode: Episode, speedup: float | None, now: int) -> None:
    """Count a verdict of a locked episode; `speedup` is that of a correct kernel, else None."""
    episode.turns_used += 1
    episode.active_at_ms = now
    if speedup is not None:
        episode.best_speedup = max(episode.best_speedup or 0.0, speedup)
    if episode.turns_used >= episode.max_turns:
        end_episode(episode, EpisodeStatus.FINISHED, now)
