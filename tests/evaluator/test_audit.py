"""The audit finds by itself what a task lets pass, and its remedies refuse it. No task here has a known name."""

from pathlib import Path

import pytest
import torch

from evaluator.audit.answers import Answer, trivial_answers
from evaluator.audit.audit import audit_task
from evaluator.audit.subject import DRAWS, Subject
from evaluator.audit.trying import Trying
from evaluator.tasks import source_for
from evaluator.tasks.audits import Audit
from tests.evaluator.audit_support import task

TOLERANCE = 1e-2


def audited(folder: Path, body: str, inputs: str = "torch.rand(64, 256)", arguments: str = "x") -> Audit:
    return audit_task(task(folder, body, inputs, arguments), "cpu", TOLERANCE)


def names(audit: Audit) -> set[str]:
    return {recipe.name for recipe in audit.special.recipes}


def still_accepted(folder: Path, audit: Audit, body: str, inputs: str, answer: str) -> bool:
    """Whether an answer passes every kind of trial that the audit asks for, tried anew and without its caches."""
    subject = Subject("level1/901_Subject", source_for(task(folder, body, inputs), "cpu"), "cpu", TOLERANCE)
    trying = Trying(subject, ())
    found: list[Answer] = [a for a in trivial_answers(trying.case(None, DRAWS[0])) if a.name == answer]
    kinds = (None, *audit.special.recipes)
    return all(trying.passes(found[0], kind, audit.special.comparison) for kind in kinds)


@pytest.mark.parametrize("body", ["torch.relu(x)", "torch.nn.functional.elu(x)", "x.clamp(-1, 1)"])
def test_an_identity_on_positive_inputs_is_found_and_refused_by_signed_ones(tmp_path: Path, body: str) -> None:
    audit = audited(tmp_path, body)
    assert audit.passed, audit.failures
    assert "signed" in audit.proof["passed_at_first"]["input 1 returned"]
    assert names(audit) >= {"signed", "zeros"}
    assert audit.special.timed
    assert audit.facts["properties"] == ["elementwise"]
    assert not still_accepted(tmp_path, audit, body, "torch.rand(64, 256)", "input 1 returned")


def test_a_parabola_is_found_where_the_generator_is_narrow(tmp_path: Path) -> None:
    audit = audited(tmp_path, "torch.nn.functional.softplus(x)")
    assert list(audit.proof["passed_at_first"]) == ["a parabola of an input"]
    assert names(audit) >= {"signed", "zeros"}


def test_a_function_that_is_a_parabola_may_be_computed_as_one(tmp_path: Path) -> None:
    audit = audited(tmp_path, "x * 3.5")
    assert audit.passed, audit.failures
    assert audit.proof["passed_at_first"] == {}


def test_zeros_for_a_wide_softmax_are_refused_by_a_tolerance_that_shrinks(tmp_path: Path) -> None:
    inputs = "torch.rand(2, 100_000)"
    audit = audited(tmp_path, "torch.softmax(x, dim=1)", inputs)
    assert audit.passed, audit.failures
    assert "comparison" in audit.proof["passed_at_first"]["zeros"]
    assert audit.special.comparison.atol_of_max_frac == 1e-5
    assert audit.special.comparison.finite_only
    assert set(audit.special.comparison.invariants) == {"rows_non_negative", "rows_sum_to_one"}
    assert names(audit) >= {"constant", "peaked_rows"}
    assert [recipe.name for recipe in audit.special.timed] == ["varied_rows"]
    for answer in audit.proof["passed_at_first"]:
        assert not still_accepted(tmp_path, audit, "torch.softmax(x, dim=1)", inputs, answer), answer


def test_a_norm_over_everything_gets_what_changes_the_norm(tmp_path: Path) -> None:
    audit = audited(tmp_path, "x / torch.norm(x)", "torch.rand(64, 2048)")
    assert audit.passed, audit.failures
    assert "statistics of other inputs" in audit.proof["passed_at_first"]
    assert names(audit) >= {"constant", "signed_scaled", "sparse"}
    assert audit.special.comparison.invariants == ("l2_norm_is_one",)
    assert audit.special.timed


def test_constants_of_the_generator_do_not_pass_for_measured_statistics(tmp_path: Path) -> None:
    body = "torch.nn.functional.layer_norm(x, (100_000,))"
    audit = audited(tmp_path, body, "torch.rand(2, 100_000)")
    assert audit.passed, audit.failures
    known = audit.proof["passed_at_first"]["statistics of other inputs"]
    assert any(name.startswith("timed ") for name in known)
    assert not still_accepted(tmp_path, audit, body, "torch.rand(2, 100_000)", "statistics of other inputs")


def test_nothing_is_added_where_nothing_passes(tmp_path: Path) -> None:
    audit = audited(tmp_path, "torch.relu(x)", "torch.randn(64, 256)")
    assert audit.passed
    assert audit.proof["passed_at_first"] == {}
    assert audit.special.disclosed == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("torch.zeros_like(x) * self.weight", "none of the inputs"),
        ("(x.mean() - x.mean()) * x.new_ones(5)", "trivial answers pass"),
        ("x * self.idle.data.add_(1).sum()", "disagrees with itself"),  # no two calls are alike: it counts them
        ("x @ x", "does not run"),
    ],
)
def test_tasks_that_nothing_can_repair_fail_with_the_reason(tmp_path: Path, body: str, says: str) -> None:
    audit = audited(tmp_path, body)
    assert not audit.passed
    assert says in " ".join(audit.failures)


def test_findings_are_told(tmp_path: Path) -> None:
    audit = audited(tmp_path, "x * self.weight + 0 * y", "torch.randn(64, 256), torch.randn(64, 256)", "x, y")
    told = " ".join(audit.findings)
    assert "input 2 of 2" in told
    assert "idle" in told
    assert audit.facts["inputs"] == ["float32[64, 256]", "float32[64, 256]"]


def test_random_numbers_and_infinities_are_told(tmp_path: Path) -> None:
    noisy = audited(tmp_path, "x + torch.rand_like(x)")
    assert "random number generator" in " ".join(noisy.findings)
    endless = audited(tmp_path, "1 / (x - x)")
    assert "NaN or infinity" in " ".join(endless.findings)


def test_stored_form_is_lossless(tmp_path: Path) -> None:
    audit = audited(tmp_path, "torch.relu(x)")
    assert Audit.from_json(audit.to_json()) == audit
    assert torch.is_grad_enabled()
