"""Pieces that several transitions share: locking a row, closing its attempt, ending it, sending it back to wait."""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.errors import FenceLost, NotFound
from grading.models import Attempt, Batch, Submission
from grading.states import CLAIMED, AttemptEnd, SubmissionStatus


def lock_submission(session: Session, submission_id: str, project_id: str | None = None) -> Submission:
    """The submission, locked until the transaction ends. Raises NotFound, also for another project's."""
    query = select(Submission).where(Submission.id == submission_id).with_for_update(key_share=True)
    if project_id is not None:
        query = query.where(Submission.project_id == project_id)
    submission = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if submission is None:
        raise NotFound(f"there is no submission {submission_id}")
    return submission


def lock_claim(session: Session, submission_id: str, fence: int) -> Submission:
    """The submission, locked, while it is claimed under this fence. Raises FenceLost."""
    submission = lock_submission(session, submission_id)
    if submission.fence != fence or submission.status not in CLAIMED:
        raise FenceLost(f"submission {submission_id} is {submission.status} under fence {submission.fence}")
    return submission


def close_attempt(session: Session, submission: Submission, end: AttemptEnd, **why: Any) -> None:
    """Record how the attempt under the row's present fence ended; an attempt is closed once."""
    session.execute(
        update(Attempt)
        .where(Attempt.submission_id == submission.id, Attempt.fence == submission.fence, Attempt.outcome.is_(None))
        .values(outcome=end, ended_at_ms=now_ms(session), **why)
    )


def leave_queue(submission: Submission) -> None:
    """Forget the wait and the claim; `slot_id` and `claimed_at_ms` stay, as where and when it last ran."""
    submission.queue = None
    submission.rung_at_ms = None
    submission.lease_until_ms = None
    submission.phase = None


def end_without_verdict(
    session: Session,
    submission: Submission,
    status: SubmissionStatus,
    end: AttemptEnd,
    *,
    code: str,
    title: str,
    detail: str,
    retryable: bool,
) -> None:
    """End a locked row that got no verdict: no reward, no turn, and a fence that nobody holds."""
    close_attempt(session, submission, end, code=code, detail=detail)
    submission.fence += 1
    submission.status = status
    submission.error_code, submission.error_title = code, title
    submission.error_detail, submission.error_retryable = detail, retryable
    submission.finished_at_ms = now_ms(session)
    leave_queue(submission)
    number_ending(session, submission)


def send_back(session: Session, submission: Submission, end: AttemptEnd, *, code: str, detail: str) -> None:
    """Return a locked, claimed row to its wait under a new fence: to `ready` where a builder's work is done."""
    close_attempt(session, submission, end, code=code, detail=detail)
    built = submission.builds is not None and submission.status is SubmissionStatus.RUNNING
    submission.fence += 1
    submission.status = SubmissionStatus.READY if built else SubmissionStatus.QUEUED
    leave_queue(submission)


def number_ending(session: Session, submission: Submission) -> None:
    """Number the ending within its batch, by the batch's own counter: the last lock that is taken."""
    if submission.batch_id is None:
        return
    session.flush()
    submission.batch_ending = session.scalars(
        update(Batch)
        .where(Batch.id == submission.batch_id)
        .values(endings=Batch.endings + 1)
        .returning(Batch.endings)
    ).one()
