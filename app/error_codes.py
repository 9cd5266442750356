"""Every way in which a request can be refused: one row per `code` that a client may meet."""

from enum import Enum


class ErrorCode(Enum):
    """`value` is (code, HTTP status, title, whether the same request may succeed later)."""

    BAD_REQUEST = ("bad_request", 400, "The request cannot be understood", False)
    MALFORMED_JSON = ("malformed_json", 400, "The body is not valid JSON", False)
    UNAUTHORIZED = ("unauthorized", 401, "An API key is needed", False)
    FORBIDDEN = ("forbidden", 403, "The API key does not allow this", False)
    NOT_FOUND = ("not_found", 404, "There is no such object", False)
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405, "The method is not offered here", False)
    BODY_TOO_SLOW = ("body_too_slow", 408, "The body did not arrive in time", True)
    CONFLICT = ("conflict", 409, "The object's state does not allow this", False)
    TURN_CONFLICT = ("turn_conflict", 409, "One is in flight for the episode, or the turn is wrong", False)
    EPISODE_FINISHED = ("episode_finished", 409, "The episode has no turn left", False)
    NOT_FINISHED = ("not_finished", 409, "The submission has not ended yet", True)
    BODY_TOO_LARGE = ("body_too_large", 413, "The body is too large", False)
    CODE_TOO_LARGE = ("code_too_large", 413, "The source is too large", False)
    UNSUPPORTED_MEDIA_TYPE = ("unsupported_media_type", 415, "The body has to be application/json", False)
    INVALID = ("invalid_request", 422, "The request has invalid fields", False)
    UNKNOWN_TASK = ("unknown_task", 422, "There is no such task", False)
    IDEMPOTENCY_KEY_REUSED = ("idempotency_key_reused", 422, "The Idempotency-Key was used for another request", False)
    DUPLICATE_CUSTOM_ID = ("duplicate_custom_id", 422, "Another item of the batch has this custom_id", False)
    RATE_LIMITED = ("rate_limited", 429, "The key sends too many requests", True)
    TOO_MANY_IN_FLIGHT = ("too_many_in_flight", 429, "The key has too many submissions in flight", True)
    INTERNAL = ("internal_error", 500, "The server made a mistake", False)
    BUSY = ("busy", 503, "The server has too much to do", True)
    UNAVAILABLE = ("unavailable", 503, "The database cannot be reached", True)

    @property
    def code(self) -> str:
        return self.value[0]

    @property
    def status(self) -> int:
        return self.value[1]

    @property
    def title(self) -> str:
        return self.value[2]

    @property
    def retryable(self) -> bool:
        return self.value[3]
