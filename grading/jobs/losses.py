"""What becomes of a submission whose attempt ended through a fault of ours."""

from sqlalchemy.orm import Session

from evaluator.errors import GraderFault
from grading.jobs.rows import end_without_verdict, send_back
from grading.jobs.text import storable
from grading.models import Submission
from grading.settings import Leases
from grading.states import AttemptEnd, SubmissionStatus

# faults that a submission may have caused: another device gets one try, a third is not risked
DEVICE_FAULTS = frozenset({"device_fault", "judge_lost"})
DEVICE_FAULTS_MAX = 2

TITLES = {
    AttemptEnd.LOST: "The worker was lost while grading",
    AttemptEnd.FAULT: "The grader failed",
}


def lose(session: Session, submission: Submission, end: AttemptEnd, fault: GraderFault, leases: Leases) -> None:
    """Count a loss of a locked, claimed row, then let it wait again or end it as `failed`.

    The row keeps no attempt of the slot that failed it: another one is tried while there is one.
    """
    submission.losses += 1
    if fault.code in DEVICE_FAULTS:
        submission.gpu_faults += 1
        submission.excluded_slot_id = submission.slot_id
    spent = submission.losses >= leases.attempts or submission.gpu_faults >= DEVICE_FAULTS_MAX
    detail = str(storable(fault.detail))
    if fault.retryable and not spent:
        send_back(session, submission, end, code=fault.code, detail=detail)
        return
    end_without_verdict(
        session,
        submission,
        SubmissionStatus.FAILED,
        end,
        code=fault.code,
        title=TITLES[end],
        detail=detail,
        retryable=fault.retryable,
    )
