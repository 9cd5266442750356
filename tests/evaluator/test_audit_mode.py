"""The reference graded against itself: held to everything that measures, and never paid."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.report import Report
from evaluator.tasks import Catalogue, source_for
from evaluator.verdicts import Verdict
from grading.jobs.finish import reward_of
from tests.evaluator.judge_support import RELU, WarmJudge, edited

FUSED = "level2/76_Gemm_Add_ReLU"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmJudge]:
    judge = WarmJudge(tmp_path_factory.mktemp("audit"), audit=True)
    yield judge
    judge.close()


def reference(judge: WarmJudge, task_id: str) -> str:
    return source_for(Catalogue(judge.config.tasks_dir).get(task_id), "cpu")


@pytest.mark.parametrize("task_id", [RELU, FUSED])
def test_reference_is_correct_marked_and_unpaid(judge: WarmJudge, task_id: str) -> None:
    report = judge.grade(reference(judge, task_id), task_id)
    assert report.correct, report.feedback
    assert report.max_abs_err == pytest.approx(0, abs=1e-5)
    assert report.audit
    assert report.result()["audit"] is True
    assert Report.from_json(report.to_json()).audit
    assert report.environment["device_need_bytes"] > 0
    with pytest.raises(ValueError, match="audit"):
        reward_of(report, "speedup", partial_credit=False)


def test_a_wrong_reference_is_still_wrong(judge: WarmJudge) -> None:
    source = reference(judge, FUSED).replace("torch.relu", "torch.sigmoid")
    assert source != reference(judge, FUSED)
    report = judge.grade(source, FUSED)
    assert report.verdict is Verdict.INCORRECT
    assert report.audit


def test_elsewhere_a_reference_is_no_answer(tmp_path: Path) -> None:
    judge = WarmJudge(tmp_path)
    try:
        report = judge.grade(reference(judge, RELU))
        assert report.verdict is Verdict.FORMAT_VIOLATION
        paid = judge.grade(edited())
        assert paid.correct
        assert not paid.audit
        assert "audit" not in paid.result()
    finally:
        judge.close()
