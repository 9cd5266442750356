"""Grading an ended submission once more, beside the old grade and outside of its episode."""

from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.db import Database
from grading.errors import NotFinished, NotFound
from grading.ids import SUBMISSION, new_id
from grading.jobs.idempotency import Created, Idempotency, create_once
from grading.jobs.queue_lanes import unbuilt
from grading.jobs.submit import seed_key
from grading.models import Submission
from grading.states import SubmissionStatus

COPIED = (
    "project_id",
    "run_id",
    "task_id",
    "language",
    "code",
    "code_sha",
    "reward_mode",
    "partial_credit",
    "labels",
    "priority",
    "gpu_kind",
    "needs_build",
)


def regrade(
    db: Database,
    secret: bytes,
    project_id: str,
    submission_id: str,
    *,
    deadline_s: float,
    key_id: str | None = None,
    idempotency: Idempotency | None = None,
) -> Created[Submission]:
    """Queue a new grade of an ended submission's source, on fresh hidden inputs; ring for it after this returns.

    The old grade, its turn and its reward stay as they are. Raises NotFound, NotFinished or IdempotencyMismatch.
    """

    def make(session: Session) -> Submission:
        old = session.get(Submission, submission_id)
        if old is None or old.project_id != project_id:
            raise NotFound(f"there is no submission {submission_id}")
        if not old.status.finished:
            raise NotFinished(f"submission {submission_id} is {old.status}")
        now, new = now_ms(session), new_id(SUBMISSION)
        row = Submission(
            id=new,
            **{name: getattr(old, name) for name in COPIED},
            regrade_of=old.id,
            key_id=key_id,
            lane=unbuilt(old.lane),
            seed_key=seed_key(secret, new),
            status=SubmissionStatus.QUEUED,
            deadline_at_ms=now + round(deadline_s * 1000),
            attempt=0,
            fence=0,
            losses=0,
            gpu_faults=0,
            created_at_ms=now,
        )
        session.add(row)
        session.flush()
        return row

    return create_once(db, Submission, idempotency, make)
