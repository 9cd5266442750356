"""Runs every static rule over one submission."""

from evaluator.limits import Limits
from evaluator.static.finding import Finding
from evaluator.static.rules import COMMON_RULES, LANGUAGE_RULES
from evaluator.static.source import Source
from evaluator.static.syntax import SourceError, parse
from evaluator.submission import Language

_ASK_SMALLER = "Send one Python file with the kernel and what it needs, nothing else."


def check(code: str, language: Language, *, source_bytes_max: int = Limits.source_bytes) -> list[Finding]:
    """All findings, errors first, then by line. Never raises for anything in `code`, and never runs any of it."""
    size_bytes = len(code.encode("utf-8", "surrogatepass"))
    if size_bytes > source_bytes_max:
        message = f"the source has {size_bytes} bytes, more than {source_bytes_max}"
        return [Finding("too-large", None, message, _ASK_SMALLER, "error")]
    if "\0" in code:
        line = code.count("\n", 0, code.index("\0")) + 1
        return [Finding("nul-byte", line, "the source holds a NUL byte", "Send plain UTF-8 text.", "error")]
    try:
        source = Source(parse(code))
    except SourceError as error:
        return [Finding("syntax", error.line, error.message, "Send one complete, valid Python module.", "error")]
    findings = [finding for rule in (*COMMON_RULES, *LANGUAGE_RULES[language]) for finding in rule.findings(source)]
    return sorted(dict.fromkeys(findings), key=lambda found: (found.severity != "error", found.line or 0, found.rule))
