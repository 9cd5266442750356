"""Stored audits: found by a task's text, read with care, and decisive for what is served for training."""

import json
from pathlib import Path

import pytest

from evaluator.tasks import Catalogue, UnsupportedTask
from evaluator.tasks.audits import AUDIT_FILE, Audit, AuditError, AuditStore
from evaluator.tasks.audits.store import read_audits, shipped, write_audits
from evaluator.tasks.special_inputs import Signed, SpecialInputs
from tests.evaluator.audit_support import task

OWN = Path(__file__).parents[2] / "kernelbench_tasks"
SPECIAL = SpecialInputs((Signed(),))


def audit_of(folder: Path, *failures: str, number: int = 901) -> Audit:
    found = task(folder, "torch.relu(x)", number=number)
    return Audit(found.task_id, found.sha256, "cpu", "reduced", failures, ("a finding",), SPECIAL)


def test_an_audit_belongs_to_one_text(tmp_path: Path) -> None:
    write_audits(tmp_path / AUDIT_FILE, [audit_of(tmp_path)])
    same = task(tmp_path, "torch.relu(x)")
    assert same.audit is not None
    assert same.special == SPECIAL
    changed = task(tmp_path, "torch.relu(x) + 1")
    assert changed.audit is None
    assert changed.special.disclosed == []


def test_sizes_for_the_cpu_do_not_make_another_text(tmp_path: Path) -> None:
    write_audits(tmp_path / AUDIT_FILE, [audit_of(tmp_path)])
    path = tmp_path / "level1" / "901_Subject.py"
    path.write_text(path.read_text() + "\n\nCPU_SIZES = {}\n")
    assert Catalogue(tmp_path).get("level1/901_Subject").audit is not None


def test_a_failed_audit_keeps_a_task_out_of_training_and_not_out_of_evaluation(tmp_path: Path) -> None:
    found = task(tmp_path, "torch.relu(x)")
    write_audits(tmp_path / AUDIT_FILE, [audit_of(tmp_path, "trivial answers pass: zeros")])
    (again,) = Catalogue(tmp_path)
    assert again.supported == (found.split == "eval")
    if again.split == "train":
        with pytest.raises(UnsupportedTask, match="fails its audit: trivial answers pass: zeros"):
            Catalogue(tmp_path).servable(again.task_id)


def test_no_draw_gives_a_failed_task() -> None:
    for split in ("train", "eval"):
        catalogue = Catalogue(OWN)
        drawn = {catalogue.draw(split, seed).task_id for seed in range(200)}  # type: ignore[arg-type]
        assert all(catalogue.get(task_id).supported for task_id in drawn)


def test_unaudited_texts_of_known_names_are_held_to_what_the_name_is(tmp_path: Path) -> None:
    folder = tmp_path / "level1"
    folder.mkdir()
    (folder / "23_Softmax.py").write_text((OWN / "level1" / "23_Softmax.py").read_text() + "\n# another text\n")
    found = Catalogue(tmp_path).get("level1/23_Softmax")
    assert found.audit is None
    assert found.special.comparison.atol_of_max_frac == 1e-5


@pytest.mark.parametrize("text", ["{", "[]", '{"audits": [{"task_id": "level1/1_A"}]}', '{"audits": 3}'])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / AUDIT_FILE).write_text(text)
    with pytest.raises(AuditError, match=AUDIT_FILE):
        AuditStore(tmp_path)


def test_files_are_replaced_whole_and_read_back(tmp_path: Path) -> None:
    audits = [audit_of(tmp_path, number=n) for n in (902, 901)]
    write_audits(tmp_path / "new" / AUDIT_FILE, audits)
    assert read_audits(tmp_path / "new" / AUDIT_FILE) == tuple(reversed(audits))
    assert len(json.loads((tmp_path / "new" / AUDIT_FILE).read_text())["audits"]) == 2
    assert [path.name for path in (tmp_path / "new").iterdir()] == [AUDIT_FILE]


def test_every_own_task_has_an_audit_that_it_passes() -> None:
    assert [found.task_id for found in Catalogue(OWN) if found.audit is None or not found.audit.passed] == []


ACTIVATIONS = ("19_ReLU", "20_LeakyReLU", "29_Softplus", "31_ELU", "88_MinGPTNewGelu")


@pytest.mark.parametrize(
    ("name", "recipes", "atol", "invariants"),
    [
        *((name, {"signed", "zeros"}, None, set()) for name in ACTIVATIONS),
        ("23_Softmax", {"constant", "peaked_rows"}, 1e-5, {"rows_non_negative", "rows_sum_to_one"}),
        ("37_FrobeniusNorm_", {"constant", "signed_scaled", "sparse"}, 1e-5, {"l2_norm_is_one"}),
    ],
)
def test_what_is_promised_for_known_tasks_came_out_of_their_audits(
    name: str, recipes: set[str], atol: float | None, invariants: set[str]
) -> None:
    known = {audit.task_id: audit.special for audit in shipped()}[f"level1/{name}"]
    for special in (known, Catalogue(OWN).get(f"level1/{name}").special):
        assert {recipe.name for recipe in special.recipes} >= recipes
        assert special.comparison.atol_of_max_frac == atol
        assert special.comparison.finite_only == (atol is not None)
        assert set(special.comparison.invariants) == invariants
        assert special.timed
