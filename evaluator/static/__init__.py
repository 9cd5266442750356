"""Stage 1: what can be told from a submission's syntax tree alone, with a remedy for each finding.

For feedback only: no defence depends on it, and words in comments, strings and names mean nothing to it.
"""

from evaluator.static.check import check
from evaluator.static.finding import Finding, Severity, broken_rules
from evaluator.static.render import render

__all__ = ["Finding", "Severity", "broken_rules", "check", "render"]
