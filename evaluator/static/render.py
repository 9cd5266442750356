"""Static findings as the feedback that the policy reads."""

from collections.abc import Sequence

from evaluator.static.finding import Finding

FINDINGS_MAX = 20
REFUSED = "The source was refused before anything of it ran:\n"
WARNED = "Warnings, which do not change the verdict:\n"


def render(findings: Sequence[Finding]) -> str:
    """Errors with their remedies, then warnings; stable for the same findings. Empty text for no finding."""
    errors = [found for found in findings if found.severity == "error"]
    warnings = [found for found in findings if found.severity == "warning"]
    parts = []
    if errors:
        parts.append(REFUSED + _lines(errors))
    if warnings:
        parts.append(WARNED + _lines(warnings))
    return "\n".join(parts)


def _lines(findings: Sequence[Finding]) -> str:
    shown = [_line(found) for found in findings[:FINDINGS_MAX]]
    if (more := len(findings) - FINDINGS_MAX) > 0:
        shown.append(f"- and {more} more")
    return "\n".join(shown)


def _line(found: Finding) -> str:
    place = f"line {found.line}: " if found.line is not None else ""
    message = " ".join(found.message.split())[:300]
    return f"- {place}{message} [{found.rule}]. {found.remedy}"
