"""Grades one claimed submission and writes down how it ended, by fence."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from structlog import get_logger

from evaluator.errors import Cancelled, GraderFault
from evaluator.report import Report
from grading import jobs
from grading.errors import FenceLost
from grading.jobs import Claim, danger
from grading.jobs.finish import Ended
from grading.jobs.losses import DEVICE_FAULTS
from workers.evaluators import ClosableEvaluator, connect
from workers.lease import Lease
from workers.products import fetch
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

RETRY_S = 0.5
RETRY_MAX_S = 5.0

T = TypeVar("T")


def grade(here: Runtime, claim: Claim, begun: Callable[[], None]) -> str | None:
    """Grade, record, announce; returns the verdict, or what became of the submission, for those who watch.

    `begun` is called first, when the claim is already kept alive: it may take its time with broker and database.
    """
    with contextlib.closing(connect(here.config)) as evaluator, held(here, claim, evaluator.abort) as lease:
        try:
            begun()
            outcome = faults_told(lambda: spared(here, claim) or _evaluate(here, evaluator, claim, lease))
            lease.ending()
            return record(here, claim, outcome)
        except FenceLost as error:
            log.warning("verdict_dropped", detail=error.detail)
            return None


@contextlib.contextmanager
def held(here: Runtime, claim: Claim, abort: Callable[[], None]) -> Iterator[Lease]:
    """The claim, kept alive until its end is written; `abort` ends the work on it when it is lost."""
    lease = Lease(here, claim, abort)
    with here.cancels.watching(claim.submission_id, lease.look), lease:
        yield lease


def spared(here: Runtime, claim: Claim) -> Report | None:
    """The verdict of a source that is not to be run again, if this is one; without the database, it is run."""
    try:
        return danger.verdict(kept_from_running=True) if danger.is_dangerous(here.db, claim.source.code) else None
    except TRANSIENT as error:
        log.warning("danger_unknown", error=repr(error))
        return None


def _evaluate(here: Runtime, evaluator: ClosableEvaluator, claim: Claim, lease: Lease) -> Report:
    fetch(here, claim.source)
    return evaluator.evaluate(claim.source, announcing(here, claim, lease.on_phase))


def faults_told(work: Callable[[], T]) -> T | GraderFault:
    """What the work on a claim came to, or a fault of ours. Raises FenceLost where the claim was lost over it."""
    try:
        return work()
    except Cancelled:
        raise FenceLost("the claim was lost while it was worked on") from None
    except GraderFault as fault:
        return fault
    except Exception as error:
        # whatever we did not foresee is ours: a submission must not be paid or punished for it
        log.exception("evaluator_failed")
        return GraderFault("internal_error", repr(error))


def announcing(here: Runtime, claim: Claim, on_phase: Callable[[str], None]) -> Callable[[str], None]:
    """Also log the first phase: with it the judge has taken the grade up."""
    first = True

    def heard(phase: str) -> None:
        nonlocal first
        if first:
            first = False
            here.evaluations.lifecycle("started", claim.row)
        on_phase(phase)

    return heard


def record(here: Runtime, claim: Claim, outcome: Report | GraderFault) -> str | None:
    """Write the end of the attempt, however long the database is away. Raises FenceLost."""
    if isinstance(outcome, Report):
        try:
            ended = until_written(lambda: jobs.finish(here.db, claim.submission_id, claim.fence, outcome))
        except (SQLAlchemyError, ValueError, TypeError) as error:
            log.exception("verdict_not_storable")
            return record(here, claim, GraderFault("unstorable_result", repr(error), retryable=False))
        here.evaluations.step(ended.submission, ended.episode)
        here.publisher.ended(ended.submission)
        return str(outcome.verdict)
    return _record_fault(here, claim, outcome)


def _record_fault(here: Runtime, claim: Claim, fault: GraderFault) -> str:
    leases = here.settings.leases
    if fault.code in DEVICE_FAULTS:
        _quarantine(here, fault)
    ended: Ended = until_written(
        lambda: jobs.finish_fault(here.db, claim.submission_id, claim.fence, fault, leases)
    )
    here.evaluations.lifecycle("fault", ended.submission, fault_code=fault.code, fault_detail=fault.detail)
    if ended.submission.verdict is not None:
        here.evaluations.step(ended.submission, ended.episode)
    if ended.submission.status.finished:
        here.publisher.ended(ended.submission)
    else:
        ring_for(here, claim)
    return str(ended.submission.status)


def _quarantine(here: Runtime, fault: GraderFault) -> None:
    """Take no more work here until the keeper has found the device well."""
    slot = here.slot
    with contextlib.suppress(FenceLost):
        until_written(
            lambda: jobs.quarantine(here.db, slot.slot_id, slot.incarnation, f"{fault.code}: {fault.detail}")
        )


def ring_for(here: Runtime, claim: Claim) -> None:
    """Ring for a row that waits again."""
    with contextlib.suppress(*TRANSIENT):  # the reaper rings for what is left without a bell
        here.ringer.ring_for([claim.submission_id])


def until_written(write: Callable[[], T]) -> T:
    """Repeat a write until the database has taken it; the fence keeps a repeated or late one harmless."""
    pause_s = RETRY_S
    while True:
        try:
            return write()
        except TRANSIENT as error:
            log.warning("write_failed", error=repr(error))
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, RETRY_MAX_S)
