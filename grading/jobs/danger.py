"""Sources under which devices or judges are lost: blamed after the second device, and left alone for an hour.

Without this, losing the judge would be an escape: no verdict, no consumed turn, as often as one likes.
"""

from sqlalchemy import select
from sqlalchemy.sql.elements import ColumnElement

from evaluator.errors import GraderFault
from evaluator.report import Report
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict
from grading.clock import db_now_ms
from grading.db import Database
from grading.jobs.losses import DEVICE_FAULTS
from grading.jobs.sources import code_sha
from grading.models import DANGEROUS_SQL, Submission

REST_MS = 3600 * 1000
FEEDBACK = (
    "The device or its judge was lost on two devices in a row while this source ran, so it is taken to be the cause. "
    "Look for out-of-bounds accesses, endless loops on the device and work that is left running."
)


def to_blame(submission: Submission, fault: GraderFault) -> bool:
    """Whether this fault of a device, the second and on another device, is the submission's doing."""
    elsewhere = submission.excluded_slot_id not in (None, submission.slot_id)
    return fault.code in DEVICE_FAULTS and submission.gpu_faults > 0 and elsewhere


def verdict(kept_from_running: bool = False) -> Report:
    """The verdict over a source that is to blame."""
    note = "Not run again: it was tried within the last hour. " if kept_from_running else ""
    return Report(Verdict.RUNTIME_ERROR, note + FEEDBACK, rules=[RunTimeRule.DANGEROUS])


def is_dangerous(db: Database, code: str) -> bool:
    """Whether this source was blamed within the last hour."""
    recent: ColumnElement[bool] = Submission.finished_at_ms > db_now_ms() - REST_MS
    blamed = select(Submission.id).where(
        Submission.code_sha == code_sha(code), DANGEROUS_SQL, recent, Submission.verdict.is_not(None)
    )
    with db.read() as session:
        return session.scalar(blamed.limit(1)) is not None
