"""The first stage of every grade: the static rules, whose errors end it."""

from evaluator.errors import SubmissionFault
from evaluator.limits import Limits
from evaluator.static import broken_rules, check, render
from evaluator.submission import Language
from evaluator.verdicts import Verdict

WARNINGS_MAX = 20  # the source decides how many there are, and a report has to fit into a message


def require_format(code: str, language: Language, limits: Limits) -> list[str]:
    """Warnings about the source. Raises SubmissionFault(format_violation) with every finding."""
    findings = check(code, language, source_bytes_max=limits.source_bytes)
    if broken := broken_rules(findings):
        raise SubmissionFault(Verdict.FORMAT_VIOLATION, render(findings), *broken)
    return [f"line {finding.line}: {finding.message}" for finding in findings[:WARNINGS_MAX]]
