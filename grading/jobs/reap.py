"""What lost processes left behind: old claims of a slot, leases that ran out, deadlines, idle episodes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import and_, select, text
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from evaluator.errors import GraderFault
from grading.clock import db_now_ms, now_ms
from grading.db import Database
from grading.jobs.episodes import end_episode
from grading.jobs.idempotency import forget_old_keys
from grading.jobs.losses import lose
from grading.jobs.rows import end_without_verdict
from grading.models import IS_CLAIMED, IS_UNFINISHED, Attempt, Episode, Slot, Submission
from grading.settings import Leases
from grading.states import AttemptEnd, EpisodeStatus, SubmissionStatus

REAPER_LOCK = 0x6B67_7265_6170
PAGE = 200
LEAP_PASSES = 3


@dataclass
class Reaped:
    """What one pass changed: rows that ended (to be announced) and rows that wait again (to be rung for)."""

    ended: list[Submission] = field(default_factory=list)
    waiting: list[Submission] = field(default_factory=list)
    episodes: int = 0
    acted: bool = True

    @property
    def returned(self) -> list[str]:
        """Ids of what waits again."""
        return [row.id for row in self.waiting]


def take_over(db: Database, slot_id: str, incarnation: str, leases: Leases) -> Reaped:
    """Give up what an earlier worker of this slot still holds, as its successor: it is lost, whatever its lease says.

    A worker gives its slot up only after what it held, so that one which left work behind was killed or is cut off.
    Does nothing where the slot is not this incarnation's.
    """
    done = Reaped()
    with db.write() as session:
        slot = session.get(Slot, slot_id)
        if slot is None or slot.incarnation != incarnation:
            return done
        present = select(Attempt.id).where(
            Attempt.submission_id == Submission.id,
            Attempt.fence == Submission.fence,
            Attempt.incarnation == incarnation,
        )
        left = and_(IS_CLAIMED, Submission.slot_id == slot_id, ~present.exists())
        _each(session, left, lambda row: _lose(session, row, leases, done))
    return done


class Reaper:
    """Passes that share what they saw of the database's clock.

    After an outage nobody could renew, so expired leases prove nothing: they are judged again one lease later. An
    outage shows as a leap between two passes of one reaper, whether the database was away, frozen or this process was.
    """

    def __init__(self, db: Database, leases: Leases) -> None:
        self._db, self._leases = db, leases
        self._seen_ms: int | None = None
        self._spare_until_ms = 0

    def run_once(self) -> Reaped:
        """Do one pass, or nothing while another reaper acts."""
        done = Reaped()
        with self._db.write() as session:
            spare = self._spares(now_ms(session))
            if not _alone(session):
                done.acted = False
                return done
            late = and_(IS_UNFINISHED, Submission.deadline_at_ms <= db_now_ms())
            _each(session, late, lambda row: _expire(session, row, done))
            if not spare:
                lapsed = and_(IS_CLAIMED, Submission.lease_until_ms <= db_now_ms())
                _each(session, lapsed, lambda row: _lose(session, row, self._leases, done))
            done.episodes = _expire_episodes(session, self._leases)
            forget_old_keys(session)
        return done

    def _spares(self, now: int) -> bool:
        leap_ms = round(LEAP_PASSES * self._leases.reap_s * 1000)
        if self._seen_ms is None or now - self._seen_ms > leap_ms:
            self._spare_until_ms = now + round(self._leases.lease_s * 1000)
        self._seen_ms = now
        return now < self._spare_until_ms


def _alone(session: Session) -> bool:
    """An advisory lock that ends with the transaction; SQLite's one writer needs none."""
    if session.get_bind().dialect.name == "sqlite":
        return True
    return bool(session.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": REAPER_LOCK}))


def _each(session: Session, where: ColumnElement[bool], act: Callable[[Submission], None]) -> None:
    """Apply `act` to each unfinished row that still meets the condition once it is locked.

    Rows that somebody else holds are passed over: whoever holds one is about to change it, and the next pass looks
    again. So a pass never waits, and cannot deadlock with a finish that holds an episode.
    """
    rows = session.scalars(
        select(Submission)
        .where(where)
        .limit(PAGE)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()
    for row in rows:
        act(row)
    session.flush()


def _expire(session: Session, row: Submission, done: Reaped) -> None:
    end_without_verdict(
        session,
        row,
        SubmissionStatus.EXPIRED,
        AttemptEnd.EXPIRED,
        code="deadline_passed",
        title="The deadline passed before there was a verdict",
        detail="raise deadline_s, or send less at once",
        retryable=True,
    )
    done.ended.append(row)


def _lose(session: Session, row: Submission, leases: Leases, done: Reaped) -> None:
    fault = GraderFault("worker_lost", "the worker stopped renewing its claim")
    lose(session, row, AttemptEnd.LOST, fault, leases)
    if row.status.finished:
        done.ended.append(row)
    else:
        done.waiting.append(row)


def _expire_episodes(session: Session, leases: Leases) -> int:
    """Expire episodes that lay idle with nothing in flight; returns how many."""
    now = now_ms(session)
    in_flight = select(Submission.id).where(
        Submission.episode_id == Episode.id, IS_UNFINISHED
    )
    idle = session.scalars(
        select(Episode)
        .where(
            Episode.status == EpisodeStatus.ACTIVE,
            Episode.active_at_ms <= now - round(leases.episode_idle_s * 1000),
            ~in_flight.exists(),
        )
        .limit(PAGE)
        .with_for_update(skip_locked=True, of=Episode)
    ).all()
    for episode in idle:
        end_episode(episode, EpisodeStatus.EXPIRED, now)
    return len(idle)


