"""A task of one's own: refused with the reason, or checked and served."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.adding import Added, Refused, add_task
from evaluator.config import EvaluatorConfig
from evaluator.tasks import Catalogue
from evaluator.tasks.audits import AUDIT_FILE
from tests.evaluator.audit_support import TEMPLATE
from tests.evaluator.judge_support import LIMITS

OWN = Path(__file__).parents[2] / "kernelbench_tasks"


def written(folder: Path, body: str, inputs: str = "torch.rand(16, 128)") -> Path:
    path = folder / "mine.py"
    path.write_text(TEMPLATE.format(body=body, inputs=inputs, arguments="x"))
    return path


def added(folder: Path, file: Path, task_id: str | None = "level1/901_Mine", **config: Any) -> Added:
    settings = EvaluatorConfig("cpu", str(OWN), str(folder / "state"), limits=LIMITS, **config)
    return add_task(file, task_id, settings, folder / "added", lambda step: None)


def test_a_good_task_is_served_with_what_its_audit_asks_for(tmp_path: Path) -> None:
    done = added(tmp_path, written(tmp_path, "torch.relu(x)"))
    catalogue = Catalogue(OWN, tmp_path / "added")
    served = catalogue.servable("level1/901_Mine")
    assert served.audit == done.audit
    assert {recipe.name for recipe in served.special.recipes} >= {"signed", "zeros"}
    assert done.report.correct
    assert done.report.audit
    assert len(catalogue) == len(Catalogue(OWN)) + 1
    with pytest.raises(Refused, match="there is a task level1/901_Mine already"):
        added(tmp_path, written(tmp_path, "torch.tanh(x)"))


@pytest.mark.parametrize(
    ("body", "task_id", "says"),
    [
        ("torch.relu(x)", None, "give one with --id"),
        ("torch.relu(x)", "level1/19_ReLU", "already"),
        ("torch.relu(x", "level1/901_Mine", "not valid Python"),
        ("x @ x", "level1/901_Mine", "fails its audit: it does not run"),
        ("torch.zeros_like(x)", "level1/901_Mine", "none of the inputs"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_kept(tmp_path: Path, body: str, task_id: str | None, says: str) -> None:
    with pytest.raises(Refused, match=says):
        added(tmp_path, written(tmp_path, body), task_id)
    assert not (tmp_path / "added").exists()


def test_a_task_set_counts_before_what_was_added(tmp_path: Path) -> None:
    target = tmp_path / "level1" / "19_ReLU.py"
    target.parent.mkdir()
    target.write_text(written(tmp_path, "torch.tanh(x)").read_text())
    catalogue = Catalogue(OWN, tmp_path)
    assert catalogue.get("level1/19_ReLU").source == Catalogue(OWN).get("level1/19_ReLU").source
    assert "another level1/19_ReLU" in " ".join(catalogue.skipped.values())


def test_a_folder_that_is_not_there_adds_nothing(tmp_path: Path) -> None:
    assert len(Catalogue(OWN, tmp_path / "absent")) == len(Catalogue(OWN))
    assert not (tmp_path / AUDIT_FILE).exists()
