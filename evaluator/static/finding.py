"""What the static check says about one place in a submission."""

from collections.abc import Iterable
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


def broken_rules(findings: Iterable[Finding]) -> list[str]:
    """The rules that refuse a source, each once; none where there are only warnings."""
    return list(dict.fromkeys(found.rule for found in findings if found.severity == "error"))
