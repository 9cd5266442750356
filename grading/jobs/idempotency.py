"""Creating once: a client's key is stored in the transaction of the object that it made."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from grading.clock import db_now_ms, now_ms
from grading.db import Database
from grading.errors import DomainError, IdempotencyMismatch
from grading.models import Batch, Episode, IdempotencyKey, Submission

Row = TypeVar("Row", Episode, Submission, Batch)

LIFETIME_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class Idempotency:
    """`owner` is the API key (or project) whose keys these are; `request` the bytes that a replay must repeat."""

    owner: str
    key: str
    request: bytes

    @property
    def request_sha(self) -> str:
        return hashlib.sha256(self.request).hexdigest()


@dataclass(frozen=True)
class Created(Generic[Row]):
    """The object, and whether an earlier request with the same key had made it."""

    row: Row
    replayed: bool = False


def create_once(
    db: Database, kind: type[Row], idempotency: Idempotency | None, make: Callable[[Session], Row]
) -> Created[Row]:
    """Run `make` in a transaction, or answer with what the same key made before.

    Two requests with one key at the same moment: the loser of the unique key, or of whatever else there is one of (an
    episode's turn), reads what the winner made. Raises IdempotencyMismatch where the key was used for another request.
    """
    if idempotency is None:
        with db.write() as session:
            return Created(make(session))
    try:
        with db.write() as session:
            if (earlier := _replay(session, kind, idempotency)) is not None:
                return earlier
            _remember(session, idempotency, row := make(session))
            session.flush()
            return Created(row)
    except IdempotencyMismatch:
        raise
    except (IntegrityError, DomainError):
        with db.read() as session:
            if (earlier := _replay(session, kind, idempotency)) is not None:
                return earlier
        raise


def forget_old_keys(session: Session) -> None:
    """Remove the keys of more than a day ago, which answer nothing any more.

    A worker host's database role may not touch them; a reaper under it leaves that to one that may.
    """
    if _may_delete(session):
        session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at_ms < db_now_ms() - LIFETIME_MS))


def _may_delete(session: Session) -> bool:
    if session.get_bind().dialect.name == "sqlite":
        return True
    return bool(session.scalar(select(func.has_table_privilege(IdempotencyKey.__tablename__, "DELETE"))))


def _replay(session: Session, kind: type[Row], wanted: Idempotency) -> Created[Row] | None:
    found = session.get(IdempotencyKey, (wanted.owner, wanted.key))
    if found is None:
        return None
    if found.created_at_ms < now_ms(session) - LIFETIME_MS:
        session.delete(found)
        session.flush()
        return None
    if found.request_sha != wanted.request_sha:
        raise IdempotencyMismatch("this Idempotency-Key was sent before with another body")
    row = session.get(kind, found.object_id)
    if row is None:
        raise IdempotencyMismatch("this Idempotency-Key was sent before for another kind of object")
    return Created(row, replayed=True)


def _remember(session: Session, used: Idempotency, row: Episode | Submission | Batch) -> None:
    session.add(
        IdempotencyKey(
            owner=used.owner,
            key=used.key,
            request_sha=used.request_sha,
            object_id=row.id,
            created_at_ms=row.created_at_ms,
        )
    )
