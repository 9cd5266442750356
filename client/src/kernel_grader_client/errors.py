"""What can go wrong: the server refuses, cannot be reached, or could not grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernel_grader_client.models import Submission


class KernelGraderError(Exception):
    """Every error of this package."""


@dataclass(frozen=True)
class Problem:
    """A refusal in the server's words (RFC 9457). `errors` names the fields at fault by pointer."""

    status: int
    code: str
    title: str
    detail: str
    retryable: bool
    errors: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Problem:
        return cls(
            status=int(data["status"]),
            code=str(data["code"]),
            title=str(data["title"]),
            detail=str(data["detail"]),
            retryable=bool(data["retryable"]),
            errors=tuple((str(e["pointer"]), str(e["detail"])) for e in data.get("errors", ())),
        )

    def __str__(self) -> str:
        fields = "".join(f"\n  {pointer}: {detail}" for pointer, detail in self.errors)
        return f"{self.detail} [{self.status} {self.code}]{fields}"


class Refused(KernelGraderError):
    """The server refused a request; sending the same again is of no use."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem

    @property
    def code(self) -> str:
        """The stable name of the refusal, such as `turn_conflict`."""
        return self.problem.code


class Unauthorized(Refused):
    """The API key is missing, unknown, revoked or not allowed to do this (401, 403)."""


class NotFound(Refused):
    """There is no such object, or it belongs to another project (404)."""


class Conflict(Refused):
    """The object's state does not allow this (409)."""


class Unavailable(KernelGraderError):
    """The server could not be reached, or asked to come back later for longer than the client's patience."""


class NotGraded(KernelGraderError):
    """The submission ended without a verdict: nothing was learnt about the kernel, and there is no reward."""

    def __init__(self, submission: Submission) -> None:
        failure = submission.failure
        super().__init__(f"{submission.id} was not graded: {failure or submission.status}")
        self.submission = submission

    @property
    def retryable(self) -> bool:
        """Whether the same source may be sent again with hope."""
        return self.submission.failure is not None and self.submission.failure.retryable


def refused(problem: Problem) -> Refused:
    """The exception for a problem."""
    kinds: dict[int, type[Refused]] = {401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict}
    return kinds.get(problem.status, Refused)(problem)
