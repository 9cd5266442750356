"""No attack is paid, with the static check or without it, and none changes what comes after it."""

from collections.abc import Iterator

import pytest

from evaluator.static import broken_rules, check
from evaluator.verdicts import Verdict
from tests.attacks.bench import Grader, grader, paid, wrongs
from tests.attacks.corpus import CORPUS, CPU, Attack
from tests.attacks.footprint import Footprint

MEMORY_GROWTH_MAX_BYTES = 200 * 1024**2
REMAINING_MAX = 6
INTERLEAVED = 50
FAST_FAULTS = {
    "messages/garbage",
    "messages/silence",
    "resources/error_that_exits",
    "resources/exit_as_if_all_was_well",
    "resources/segmentation_fault",
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Grader]:
    with grader("cpu") as made:
        for task, attack in {attack.task: attack for attack in CPU}.items():
            made.grade_unchecked(attack.code, task)  # every bench is warm before anything is counted
        assert made.honest().verdict is Verdict.CORRECT
        yield made


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left(judge: Grader) -> Iterator[None]:
    before = Footprint.take(judge.uids)
    yield
    after = Footprint.take(judge.uids)
    assert (after.descriptors, after.children, after.ports) == (before.descriptors, before.children, before.ports)
    assert after.left == before.left
    assert after.memory_bytes - before.memory_bytes < MEMORY_GROWTH_MAX_BYTES


@pytest.mark.parametrize("attack", CPU, ids=lambda attack: attack.name)
def test_attack_is_not_paid_and_the_next_one_is(attack: Attack, judge: Grader) -> None:
    broken = broken_rules(check(attack.code, attack.language))
    assert bool(broken) is attack.caught
    if attack.caught:
        report = judge.grade(attack.code, attack.task, attack.language)
        assert (report.verdict, paid(report), report.rules) == (Verdict.FORMAT_VIOLATION, 0.0, broken)
    report = judge.grade_unchecked(attack.code, attack.task, attack.language)
    assert wrongs(report, attack) == [], report.feedback
    assert judge.honest().verdict is Verdict.CORRECT


def test_corpus_is_broad_and_honest_about_what_remains() -> None:
    assert len(CORPUS) >= 60
    assert len({attack.tries for attack in CORPUS}) == len(CORPUS)
    assert all(Verdict.CORRECT not in attack.verdicts or attack.pays or attack.remains for attack in CORPUS)
    assert sum(bool(attack.remains) for attack in CORPUS) <= REMAINING_MAX


def test_faulty_and_honest_ones_interleaved(judge: Grader) -> None:
    faulty = [attack for attack in CPU if attack.name in FAST_FAULTS]
    for attack in [*faulty * (INTERLEAVED // len(faulty))]:
        assert judge.grade_unchecked(attack.code, attack.task).verdict in attack.verdicts
        report = judge.honest()
        assert report.verdict is Verdict.CORRECT, report.feedback
