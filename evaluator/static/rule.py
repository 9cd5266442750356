"""What a static rule is: an id, how bad, the remedy, and a function that yields the places."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evaluator.static.finding import Finding, Severity
from evaluator.static.source import Source


@dataclass(frozen=True)
class Hit:
    """A place that breaks a rule. `remedy` overrides the rule's own."""

    line: int | None
    message: str
    remedy: str | None = None

    @classmethod
    def at(cls, node: ast.AST, message: str) -> "Hit":
        return cls(getattr(node, "lineno", None), message)


@dataclass(frozen=True)
class Rule:
    """`find` yields its hits in any order; it must not recurse over the tree, which may be deep."""

    rule: str
    find: Callable[[Source], Iterable[Hit]]
    remedy: str
    severity: Severity = "error"

    def findings(self, source: Source) -> list[Finding]:
        """At most one finding a line, and the first few lines only: the second `open` teaches nothing new."""
        by_line: dict[int | None, Hit] = {}
        for hit in self.find(source):
            by_line.setdefault(hit.line, hit)
        first = sorted(by_line.values(), key=lambda hit: hit.line or 0)[:LINES_PER_RULE_MAX]
        return [Finding(self.rule, hit.line, hit.message, hit.remedy or self.remedy, self.severity) for hit in first]


LINES_PER_RULE_MAX = 5
