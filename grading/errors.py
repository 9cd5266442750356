"""What the rules of episodes and submissions refuse. The API turns each into a problem with the same `code`."""

from typing import ClassVar


class DomainError(Exception):
    """A request that the present state does not allow. `retryable`: the same request may succeed later."""

    code: ClassVar[str]
    title: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class NotFound(DomainError):
    """There is no such object, or it belongs to another project."""

    code = "not_found"
    title = "There is no such object"


class TurnConflict(DomainError):
    """Another submission of the episode is in flight, or the turn asked for is not the present one."""

    code = "turn_conflict"
    title = "The episode is at another turn or has a submission in flight"


class EpisodeFinished(DomainError):
    """The episode takes no more submissions."""

    code = "episode_finished"
    title = "The episode takes no more submissions"


class NotFinished(DomainError):
    """The submission has not ended yet."""

    code = "not_finished"
    title = "The submission has not ended yet"
    retryable = True


class QuotaExceeded(DomainError):
    """The API key has as many submissions in flight as it may."""

    code = "too_many_in_flight"
    title = "The key has as many submissions in flight as it may"
    retryable = True


class IdempotencyMismatch(DomainError):
    """The Idempotency-Key was used with another body."""

    code = "idempotency_key_reused"
    title = "The Idempotency-Key was used for another request"


class AlreadyEnded(DomainError):
    """The submission has ended, and an end is for good."""

    code = "already_ended"
    title = "The submission has ended"


class FenceLost(DomainError):
    """The claim is no longer the caller's: it must stop and write nothing."""

    code = "fence_lost"
    title = "The claim belongs to somebody else"


class SlotTaken(DomainError):
    """Another live worker holds the slot."""

    code = "slot_taken"
    title = "Another worker holds this slot"
    retryable = True
