"""The reaper's one pass: leases that ran out, deadlines, idle episodes. Bells are `grading.jobs.bells`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import select, text
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from evaluator.errors import GraderFault
from grading.clock import db_now_ms, now_ms
from grading.db import Database
from grading.jobs.episodes import end_episode
from grading.jobs.losses import lose
from grading.jobs.rows import end_without_verdict
from grading.models import Episode, Submission
from grading.settings import Leases
from grading.states import CLAIMED, UNFINISHED, AttemptEnd, EpisodeStatus, SubmissionStatus

REAPER_LOCK = 0x6B67_7265_6170
PAGE = 200


@dataclass
class Reaped:
    """What one pass changed: rows that ended (to be announced) and ids that wait again (to be rung for)."""

    ended: list[Submission] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    episodes: int = 0
    acted: bool = True


def reap(db: Database, leases: Leases, *, leases_count: bool = True) -> Reaped:
    """Do one pass, or nothing while another reaper acts.

    `leases_count=False` spares claims whose lease ran out: after an outage of the database nobody could renew, so the
    caller waits one lease before it judges them.
    """
    done = Reaped()
    with db.write() as session:
        if not _alone(session):
            done.acted = False
            return done
        _each(session, Submission.deadline_at_ms <= db_now_ms(), lambda row: _expire(session, row, done))
        if leases_count:
            lapsed = Submission.lease_until_ms <= db_now_ms()
            _each(session, lapsed & Submission.status.in_(CLAIMED), lambda row: _lose(session, row, leases, done))
        done.episodes = _expire_episodes(session, leases)
    return done


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
        .where(Submission.status.in_(UNFINISHED), where)
        .order_by(Submission.id)
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
        done.returned.append(row.id)


def _expire_episodes(session: Session, leases: Leases) -> int:
    """Expire episodes that lay idle with nothing in flight; returns how many."""
    now = now_ms(session)
    in_flight = select(Submission.id).where(
        Submission.episode_id == Episode.id, Submission.status.in_(UNFINISHED)
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


