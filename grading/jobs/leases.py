"""Holding a claim: renewing it, saying which phase it is in, and giving it back."""

from sqlalchemy import select, update

from grading.clock import db_now_ms
from grading.db import Database
from grading.errors import FenceLost
from grading.jobs.rows import lock_claim, lock_submission, send_back
from grading.models import IS_CLAIMED, Attempt, Submission
from grading.settings import Leases
from grading.states import CLAIMED, AttemptEnd

PHASE_MAX = 200


def renew(db: Database, submission_id: str, fence: int, leases: Leases, phase: str | None = None) -> None:
    """Extend the lease, and note the phase where one is given.

    Raises FenceLost: then the evaluation must be killed and nothing be written.
    """
    values: dict[str, object] = {"lease_until_ms": db_now_ms() + round(leases.lease_s * 1000)}
    if phase is not None:
        values["phase"] = phase[:PHASE_MAX]
    _update_claim(db, submission_id, fence, **values)


def note_phase(db: Database, submission_id: str, fence: int, phase: str) -> None:
    """Record what the grade is doing, for those who watch. Raises FenceLost."""
    _update_claim(db, submission_id, fence, phase=phase[:PHASE_MAX])


def _update_claim(db: Database, submission_id: str, fence: int, **values: object) -> None:
    statement = (
        update(Submission)
        .where(Submission.id == submission_id, Submission.fence == fence, IS_CLAIMED)
        .values(**values)
        .execution_options(synchronize_session=False)
        .returning(Submission.id)
    )
    with db.write() as session:
        changed = session.scalar(statement)
    if changed is None:
        raise FenceLost(f"submission {submission_id} is no longer held under fence {fence}")


def hand_back(db: Database, submission_id: str, fence: int) -> None:
    """Return a claim unfinished, at no cost to the submission. Raises FenceLost."""
    with db.write() as session:
        submission = lock_claim(session, submission_id, fence)
        send_back(session, submission, AttemptEnd.HANDED_BACK, code="handed_back", detail="the worker shut down")


def hand_back_slot(db: Database, slot_id: str, incarnation: str) -> list[Submission]:
    """Return everything that this incarnation of a slot still holds; the rows that went back to wait."""
    with db.write() as session:
        held = (
            select(Submission.id)
            .join(Attempt, (Attempt.submission_id == Submission.id) & (Attempt.fence == Submission.fence))
            .where(
                Submission.slot_id == slot_id, IS_CLAIMED, Attempt.incarnation == incarnation
            )
            .order_by(Submission.id)
        )
        returned: list[Submission] = []
        for submission_id in session.scalars(held).all():
            submission = lock_submission(session, submission_id)
            if submission.slot_id == slot_id and submission.status in CLAIMED:
                send_back(
                    session, submission, AttemptEnd.HANDED_BACK, code="handed_back", detail="the worker shut down"
                )
                returned.append(submission)
        return returned
