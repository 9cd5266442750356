"""Every rule of the grader is known to those who train: as a mistake, or as a way around the task."""

from evaluator.run_time_rules import RunTimeRule
from evaluator.static import check
from evaluator.static.rules import COMMON_RULES, LANGUAGE_RULES
from train.rules import MISTAKES, WAYS_AROUND, kind_of, to_read

# what cannot be parsed breaks no rule of the table, and is named where it is found
UNPARSED = ("x" * 9, "x\0", "def")


def test_every_rule_is_one_or_the_other() -> None:
    tables = [COMMON_RULES, *LANGUAGE_RULES.values()]
    known = {rule.rule for table in tables for rule in table} | set(map(str, RunTimeRule))
    unparsed = {finding.rule for code in UNPARSED for finding in check(code, "triton", source_bytes_max=8)}
    assert unparsed == {"too-large", "nul-byte", "syntax"}
    assert sorted(MISTAKES | WAYS_AROUND) == sorted(known | unparsed)
    assert not MISTAKES & WAYS_AROUND


def test_what_is_not_known_is_to_be_read() -> None:
    assert to_read(["syntax", "process", "of-tomorrow", "no-kernel", "process"]) == ["of-tomorrow", "process"]
    told = {rule: kind_of(rule) for rule in ("kernel-language", "decoy", "of-tomorrow")}
    assert told == {"kernel-language": "mistake", "decoy": "way around", "of-tomorrow": "rule unknown here"}
