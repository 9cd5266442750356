"""The states that rows go through, and which of them mean what."""

from enum import IntEnum, StrEnum


class SubmissionStatus(StrEnum):
    """Lifecycle of a submission; the verdict is another thing."""

    QUEUED = "queued"
    COMPILING = "compiling"
    READY = "ready"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def finished(self) -> bool:
        return self not in UNFINISHED


UNFINISHED = (
    SubmissionStatus.QUEUED,
    SubmissionStatus.COMPILING,
    SubmissionStatus.READY,
    SubmissionStatus.RUNNING,
)
WAITING = (SubmissionStatus.QUEUED, SubmissionStatus.READY)
CLAIMED = (SubmissionStatus.COMPILING, SubmissionStatus.RUNNING)


class EpisodeStatus(StrEnum):
    """`finished` means that the turns are used up; `expired` that it lay idle too long."""

    ACTIVE = "active"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class AttemptEnd(StrEnum):
    """How one attempt at building or grading ended. Only `lost` and `fault` count towards the limit of attempts.

    `built` is a build whose grade is still to come, under the same number.
    """

    VERDICT = "verdict"
    BUILT = "built"
    LOST = "lost"
    FAULT = "fault"
    HANDED_BACK = "handed_back"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class SlotState(StrEnum):
    """What a slot may do: only a ready one takes work."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    QUARANTINED = "quarantined"
    GONE = "gone"


class SlotRole(StrEnum):
    """What a slot does with a submission: a builder claims what is to be compiled first, a grader the rest."""

    GRADER = "grader"
    BUILDER = "builder"


class Priority(IntEnum):
    """Claim order, lowest first; a waiting row moves up one class for every ten minutes."""

    HIGH = 0
    NORMAL = 1
    LOW = 2
