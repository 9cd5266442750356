"""Ending a grade: a verdict with its reward and turn, or a fault of ours that is tried again or given up."""

from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from evaluator.errors import GraderFault
from evaluator.report import Report
from evaluator.reward import RewardMode, reward
from grading.clock import now_ms
from grading.db import Database
from grading.errors import FenceLost, NotFound
from grading.jobs import danger
from grading.jobs.episodes import lock_episode, take_turn
from grading.jobs.losses import lose
from grading.jobs.rows import close_attempt, leave_queue, lock_submission, number_ending
from grading.jobs.text import storable
from grading.models import Episode, Submission
from grading.settings import Leases
from grading.states import CLAIMED, AttemptEnd, SubmissionStatus


@dataclass(frozen=True)
class Ended:
    """The row after a transition, and its episode where it has one."""

    submission: Submission
    episode: Episode | None


def finish(db: Database, submission_id: str, fence: int, report: Report) -> Ended:
    """Record a verdict: result, reward, turn, episode and batch in one transaction.

    May be repeated, as a caller whose connection broke must: the second time finds the verdict of the same fence and
    changes nothing. A lease that ran out does not matter while the fence is unchanged. Raises FenceLost.
    """
    with db.write() as session:
        episode, submission = _lock(session, submission_id)
        if submission.status is SubmissionStatus.COMPLETED and submission.fence == fence:
            return Ended(submission, episode)
        if submission.fence != fence or submission.status not in CLAIMED:
            raise FenceLost(f"submission {submission_id} is {submission.status} under fence {submission.fence}")
        close_attempt(session, submission, AttemptEnd.VERDICT)
        _complete(session, submission, episode, report)
        return Ended(submission, episode)


def finish_fault(db: Database, submission_id: str, fence: int, fault: GraderFault, leases: Leases) -> Ended:
    """Record that we failed: back to wait for another attempt, or `failed` without a verdict.

    A submission that took down a second device gets a verdict instead (`grading.jobs.danger`). Raises FenceLost.
    """
    with db.write() as session:
        episode, submission = _lock(session, submission_id)
        if submission.fence != fence or submission.status not in CLAIMED:
            raise FenceLost(f"submission {submission_id} is {submission.status} under fence {submission.fence}")
        if danger.to_blame(submission, fault):
            submission.gpu_faults += 1
            close_attempt(session, submission, AttemptEnd.FAULT, code=fault.code, detail=storable(fault.detail))
            _complete(session, submission, episode, danger.verdict())
        else:
            lose(session, submission, AttemptEnd.FAULT, fault, leases)
        session.flush()
        return Ended(submission, episode)


def reward_of(report: Report, mode: str, *, partial_credit: bool) -> float:
    """The reward of a report under one setting; see `evaluator.reward`. Raises ValueError for an audit's report."""
    if report.audit:
        raise ValueError("the report of an audit earns no reward")
    return reward(
        report.verdict,
        speedup=report.timing.speedup if report.timing else None,
        roofline_frac=report.roofline_frac,
        mode=cast(RewardMode, mode),
        partial_credit=partial_credit,
    )


def _lock(session: Session, submission_id: str) -> tuple[Episode | None, Submission]:
    """Lock in the order that everybody keeps: the episode first. A submission never changes its episode."""
    found = session.execute(select(Submission.episode_id).where(Submission.id == submission_id)).one_or_none()
    if found is None:
        raise NotFound(f"there is no submission {submission_id}")
    episode = lock_episode(session, found.episode_id) if found.episode_id else None
    return episode, lock_submission(session, submission_id)


def _complete(session: Session, submission: Submission, episode: Episode | None, report: Report) -> None:
    """Give a locked row, whose attempt is closed, its verdict."""
    now = now_ms(session)
    _record(submission, report)
    submission.status = SubmissionStatus.COMPLETED
    submission.finished_at_ms = now
    leave_queue(submission)
    if episode is not None:
        take_turn(episode, submission.speedup, now)
    number_ending(session, submission)
    session.flush()


def _record(submission: Submission, report: Report) -> None:
    submission.stage, submission.verdict = report.stage, report.verdict
    submission.reward = reward_of(report, submission.reward_mode, partial_credit=submission.partial_credit)
    submission.speedup = report.timing.speedup if report.correct and report.timing else None
    submission.result = cast(dict[str, Any], storable(report.result()))
    submission.log = cast(str | None, storable(getattr(report, "log", None) or None))
    submission.environment = cast(dict[str, Any], storable(report.environment))
    built_in = (submission.builds or {}).get("phases", {})
    submission.phases = cast(dict[str, Any], storable({**built_in, **report.phases}))
