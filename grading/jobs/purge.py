"""Retention: removes what ended long ago, a page at a time, so that nobody waits for it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, delete, func, not_, or_, select, update
from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.db import Database
from grading.jobs.idempotency import LIFETIME_MS
from grading.models import IS_UNFINISHED, Batch, Episode, IdempotencyKey, Slot, Submission
from grading.states import EpisodeStatus, SlotState

PAGE = 500


@dataclass
class Purged:
    """How many rows went, or would go; `stripped` lost their source and log and kept the rest."""

    submissions: int = 0
    stripped: int = 0
    episodes: int = 0
    batches: int = 0
    idempotency_keys: int = 0
    slots: int = 0


def purge(db: Database, older_than_s: float, *, keep_results: bool = False, dry_run: bool = False) -> Purged:
    """Remove submissions that ended before that, with their attempts, and then episodes and batches left empty.

    With `keep_results` submissions lose only their source and log, and episodes and batches stay. What belongs to an
    active episode stays whole: its history is still shown to the policy. Slots that nobody serves any more go by the
    same age, Idempotency-Keys after the day for which they answer.
    """
    with db.read() as session:
        now = now_ms(session)
        before = now - round(older_than_s * 1000)
    old, done = _Old(before, now - LIFETIME_MS), Purged()
    if dry_run:
        with db.read() as session:
            _count(session, old, done, keep_results=keep_results)
        return done
    if keep_results:
        done.stripped = _paged(db, lambda session: _strip(session, old))
    else:
        done.submissions = _paged(db, lambda session: _delete(session, Submission, old.submissions))
        done.episodes = _paged(db, lambda session: _delete(session, Episode, old.episodes))
        done.batches = _paged(db, lambda session: _delete(session, Batch, old.batches))
    done.slots = _paged(db, lambda session: _delete(session, Slot, old.slots))
    with db.write() as session:
        gone = session.execute(delete(IdempotencyKey).where(old.idempotency_keys).returning(IdempotencyKey.key))
        done.idempotency_keys = len(gone.all())
    return done


class _Old:
    """Conditions for what may go; times are the database's, in milliseconds."""

    def __init__(self, before_ms: int, keys_before_ms: int) -> None:
        self.before_ms = before_ms
        active = select(Episode.id).where(
            Episode.id == Submission.episode_id, Episode.status == EpisodeStatus.ACTIVE
        )
        self.submissions = and_(Submission.finished_at_ms < before_ms, not_(IS_UNFINISHED), ~active.exists())
        self.strippable = and_(self.submissions, or_(Submission.code != "", Submission.log.is_not(None)))
        of_episode = select(Submission.id).where(Submission.episode_id == Episode.id).exists()
        self.episodes = and_(Episode.finished_at_ms < before_ms, ~of_episode)
        of_batch = select(Submission.id).where(Submission.batch_id == Batch.id).exists()
        self.batches = and_(Batch.created_at_ms < before_ms, ~of_batch)
        self.slots = and_(
            Slot.state.in_([SlotState.GONE, SlotState.STARTING, SlotState.READY, SlotState.DRAINING]),
            Slot.lease_until_ms < before_ms,
        )
        self.idempotency_keys = IdempotencyKey.created_at_ms < keys_before_ms


def _paged(db: Database, step: Callable[[Session], int]) -> int:
    total = 0
    while True:
        with db.write() as session:
            done = step(session)
        total += done
        if done < PAGE:
            return total


def _page(kind: type[Submission | Episode | Batch | Slot], where: ColumnElement[bool]) -> Select[str]:
    # what somebody has locked is in use after all, and goes another time
    return select(kind.id).where(where).limit(PAGE).with_for_update(skip_locked=True, of=kind)


def _delete(session: Session, kind: type[Submission | Episode | Batch | Slot], where: ColumnElement[bool]) -> int:
    ids = session.scalars(_page(kind, where)).all()
    session.execute(delete(kind).where(kind.id.in_(ids)).execution_options(synchronize_session=False))
    return len(ids)


def _strip(session: Session, old: _Old) -> int:
    ids = session.scalars(_page(Submission, old.strippable)).all()
    bare = update(Submission).where(Submission.id.in_(ids)).values(code="", log=None)
    session.execute(bare.execution_options(synchronize_session=False))
    return len(ids)


def _count(session: Session, old: _Old, done: Purged, *, keep_results: bool) -> None:
    def rows(kind: type[Submission | Episode | Batch | Slot | IdempotencyKey], where: ColumnElement[bool]) -> int:
        return session.scalars(select(func.count()).select_from(kind).where(where)).one()

    if keep_results:
        done.stripped = rows(Submission, old.strippable)
    else:
        done.submissions = rows(Submission, old.submissions)
        done.episodes, done.batches = _emptied(session, old)
    done.slots = rows(Slot, old.slots)
    done.idempotency_keys = rows(IdempotencyKey, old.idempotency_keys)


def _emptied(session: Session, old: _Old) -> tuple[int, int]:
    """Episodes and batches that would have no submission left."""
    left = not_(old.submissions)
    counts = []
    for kind, link, when in (
        (Episode, Submission.episode_id, Episode.finished_at_ms),
        (Batch, Submission.batch_id, Batch.created_at_ms),
    ):
        kept = select(Submission.id).where(link == kind.id, left).exists()
        counts.append(session.scalars(select(func.count()).select_from(kind).where(when < old.before_ms, ~kept)).one())
    return counts[0], counts[1]
