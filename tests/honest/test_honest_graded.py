"""Every honest Triton kernel is correct for the whole judge, in the interpreter: walls, guard, comparison, timing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.limits import Limits
from evaluator.submission import Submission
from tests.honest.corpus import TRITON, Honest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeClient]:
    config = EvaluatorConfig(
        kind="cpu",
        tasks_dir=str(ROOT / "kernelbench_tasks"),
        state_dir=str(tmp_path_factory.mktemp("judge")),
        limits=Limits(correctness_trials=2, timing_s=0.1, timing_pairs_max=3),
    )
    process = JudgeProcess(config)
    process.start()
    try:
        yield JudgeClient(process.socket_path, config)
    finally:
        process.close()


@pytest.mark.parametrize("kernel", TRITON, ids=lambda kernel: kernel.name)
def test_judge_finds_it_correct(judge: JudgeClient, kernel: Honest) -> None:
    submission = Submission(f"honest-{kernel.name}", kernel.task, kernel.code, "triton", "5" * 64)
    report = judge.evaluate(submission, lambda _: None)
    assert report.correct, report.feedback
