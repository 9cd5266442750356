"""Batches: many submissions taken in at once, each accepted or refused by itself, and cancelled together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.db import Database
from grading.errors import DomainError, NotFound, QuotaExceeded
from grading.ids import BATCH, new_id
from grading.jobs.cancel import end_cancelled
from grading.jobs.dedupe import reuse_verdict
from grading.jobs.episodes import lock_episode
from grading.jobs.idempotency import Idempotency, create_once
from grading.jobs.quota import room
from grading.jobs.submit import NewSubmission, new_row, require_turn
from grading.models import IS_UNFINISHED, Batch, Episode, Submission


@dataclass(frozen=True)
class BatchItem:
    """One submission of a batch; `index` is its place in the request, `custom_id` the client's name for it."""

    index: int
    custom_id: str
    new: NewSubmission


@dataclass(frozen=True)
class NewBatch:
    """`refused` maps places to JSON about items that were found wanting before; with `items` it makes up the batch."""

    project_id: str
    items: Sequence[BatchItem]
    refused: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    run_id: str | None = None


@dataclass(frozen=True)
class CreatedBatch:
    """The batch and the rows that this call took in: none where an earlier request with the same key had."""

    row: Batch
    accepted: Sequence[Submission] = ()
    replayed: bool = False


def create_batch(db: Database, secret: bytes, new: NewBatch, idempotency: Idempotency | None = None) -> CreatedBatch:
    """Record a batch with everything in it that can be accepted; ring for what is waiting after this returns.

    What the rules refuse is noted as `{custom_id, code, detail}` under its place. Refused items end at once and so are
    numbered first. Raises IdempotencyMismatch.
    """
    accepted: list[Submission] = []

    def make(session: Session) -> Batch:
        left = _room(session, new.items)
        episodes = _lock_episodes(session, new)
        now = now_ms(session)
        batch = Batch(
            id=new_id(BATCH),
            project_id=new.project_id,
            run_id=new.run_id,
            size=len(new.items) + len(new.refused),
            endings=0,
            refused={},
            created_at_ms=now,
        )
        session.add(batch)
        session.flush()
        refused = {str(index): dict(entry) for index, entry in new.refused.items()}
        for item in new.items:
            try:
                if left is not None and len(accepted) >= left:
                    raise QuotaExceeded(f"this key has {item.new.in_flight_max} submissions in flight, its limit")
                row = _row(session, item, episodes, secret, now)
            except DomainError as error:
                refused[str(item.index)] = {"custom_id": item.custom_id, "code": error.code, "detail": error.detail}
                continue
            row.batch_id, row.custom_id, row.batch_index = batch.id, item.custom_id, item.index
            session.add(row)
            accepted.append(row)
            if item.new.episode_id is not None:
                session.flush()  # a second item for the same episode must meet this one
        for ending, index in enumerate(sorted(refused, key=int), start=1):
            refused[index]["ending"] = ending
        batch.refused, batch.endings = refused, len(refused)
        session.flush()
        _reuse_verdicts(session, new, accepted, episodes)
        session.flush()
        return batch

    created = create_once(db, Batch, idempotency, make)
    return CreatedBatch(created.row, () if created.replayed else accepted, created.replayed)


def cancel_batch(db: Database, project_id: str, batch_id: str) -> list[Submission]:
    """Cancel everything unfinished of a batch; returns what this ended. Raises NotFound.

    All submissions are locked before the first is ended: an ending takes the batch's own lock, which comes last.
    """
    with db.write() as session:
        batch = session.get(Batch, batch_id)
        if batch is None or batch.project_id != project_id:
            raise NotFound(f"there is no batch {batch_id}")
        rows = session.scalars(
            select(Submission)
            .where(Submission.batch_id == batch_id, IS_UNFINISHED)
            .order_by(Submission.id)
            .with_for_update(key_share=True)
            .execution_options(populate_existing=True)
        ).all()
        for row in rows:
            end_cancelled(session, row)
        return list(rows)


def _room(session: Session, items: Sequence[BatchItem]) -> int | None:
    """All items come from one key."""
    return room(session, items[0].new.key_id, items[0].new.in_flight_max) if items else None


def _lock_episodes(session: Session, new: NewBatch) -> dict[str, Episode | NotFound]:
    """By id, in one order for everybody, so that two batches cannot wait for each other."""
    found: dict[str, Episode | NotFound] = {}
    for episode_id in sorted({item.new.episode_id for item in new.items if item.new.episode_id is not None}):
        try:
            found[episode_id] = lock_episode(session, episode_id, new.project_id)
        except NotFound as error:
            found[episode_id] = error
    return found


def _row(
    session: Session, item: BatchItem, episodes: Mapping[str, Episode | NotFound], secret: bytes, now: int
) -> Submission:
    if item.new.episode_id is None:
        return new_row(item.new, None, secret, now)
    episode = episodes[item.new.episode_id]
    if isinstance(episode, NotFound):
        raise episode
    require_turn(session, episode, item.new.turn)
    return new_row(item.new, episode, secret, now)


def _reuse_verdicts(
    session: Session, new: NewBatch, accepted: Sequence[Submission], episodes: Mapping[str, Episode | NotFound]
) -> None:
    wanted = {item.index for item in new.items if item.new.dedupe}
    for row in accepted:
        if row.batch_index in wanted:
            episode = episodes.get(row.episode_id or "")
            reuse_verdict(session, row, episode if isinstance(episode, Episode) else None)
