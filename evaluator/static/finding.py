"""What the static check says about one place in a submission."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """`line` counts from 1, and is None for a finding about the whole source. An error is a `format_violation`."""

    rule: str
    line: int | None
    message: str
    remedy: str
    severity: Severity
