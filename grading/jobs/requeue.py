"""Sending submissions back to wait on an operator's order: at no cost to them, under a new fence."""

from sqlalchemy import select

from grading.db import Database
from grading.errors import AlreadyEnded
from grading.jobs.rows import leave_queue, lock_submission, send_back
from grading.models import IS_CLAIMED, Submission
from grading.states import CLAIMED, AttemptEnd


def requeue(db: Database, submission_id: str) -> Submission:
    """Take a running submission off its slot, or the bell off a waiting one; ring for it after this returns.

    The caller publishes it as cancelled for the slot, so that a runner dies at once. Raises NotFound, and AlreadyEnded
    for what has ended: clients have seen that, and a regrade is how to grade it again.
    """
    with db.write() as session:
        row = lock_submission(session, submission_id)
        if row.status.finished:
            raise AlreadyEnded(f"submission {submission_id} is {row.status}")
        if row.status in CLAIMED:
            send_back(session, row, AttemptEnd.HANDED_BACK, code="requeued", detail="an operator sent it back to wait")
        else:
            leave_queue(row)
        return row


def held_by(db: Database, slot_id: str) -> list[str]:
    """Ids of what a slot is grading."""
    with db.read() as session:
        return list(session.scalars(select(Submission.id).where(Submission.slot_id == slot_id, IS_CLAIMED)))
