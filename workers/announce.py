"""Tells those who wait and those who watch what became of submissions that a lost process had held."""

from structlog import get_logger

from grading.events import Publisher
from grading.jobs import Reaped
from grading.logs import EvaluationLog
from grading.states import SubmissionStatus

log = get_logger(__name__)


def announce(done: Reaped, publisher: Publisher, evaluations: EvaluationLog) -> None:
    """After the commit: hints for what ended, and a line of the log for each row."""
    for row in done.ended:
        if row.status is SubmissionStatus.EXPIRED:
            publisher.cancelled(row)  # it may be running
        else:
            publisher.ended(row)
        evaluations.lifecycle(str(row.status), row)
    for row in done.waiting:
        evaluations.lifecycle("lost", row)
    if done.waiting or done.ended:
        log.info("reaped", returned=done.returned, ended=[row.id for row in done.ended])
