"""What fails for want of device memory beside another grade is tried alone before it counts."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import torch

from evaluator.errors import GraderFault
from evaluator.judge.clock import PhaseClock
from evaluator.judge.memory import MemoryBudget, Need
from evaluator.judge.trials import Trials
from evaluator.report import Report
from evaluator.verdicts import Verdict
from tests.attacks.bench import Grader, grader

PATIENCE_S = 60.0
FULL = torch.OutOfMemoryError("CUDA out of memory.")


@pytest.fixture(scope="module")
def judge() -> Iterator[Grader]:
    with grader("cpu", lanes=2) as made:
        yield made


@pytest.fixture
def budget(judge: Grader) -> MemoryBudget:
    return judge._judge._workshop.memory


def fail_while(monkeypatch: pytest.MonkeyPatch, short: Callable[[], bool], error: Exception) -> threading.Event:
    """Let trials fail for as long as memory is short; the event is set once they have."""
    run, failed = Trials.run, threading.Event()

    def run_or_fail(self: Trials) -> Any:
        if short():
            failed.set()
            raise error
        return run(self)

    monkeypatch.setattr(Trials, "run", run_or_fail)
    return failed


@pytest.mark.parametrize(
    "error", [FULL, GraderFault("reference_failed", "out of memory"), GraderFault("device_memory", "cuMemAlloc failed")]
)
def test_what_fails_beside_another_grade_is_graded_again_alone(
    judge: Grader, budget: MemoryBudget, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failed = fail_while(monkeypatch, lambda: not all(admission.alone for admission in budget._admitted), error)
    with ThreadPoolExecutor(1) as pool:
        with budget.admitted(Need(0, 0), PhaseClock(lambda phase: None, PATIENCE_S), lambda idle_bytes_max: None, None):
            graded: Future[Report] = pool.submit(judge.honest)
            assert failed.wait(PATIENCE_S)
        assert graded.result().correct
    assert budget._admitted == []


def test_a_submission_that_leaves_no_memory_while_nobody_else_is_there_is_to_blame(
    judge: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_while(monkeypatch, lambda: True, FULL)
    report = judge.honest()
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert report.feedback.startswith("out of memory: the submission keeps so much")


def test_a_task_that_is_too_large_for_the_device_blames_nobody(
    judge: Grader, budget: MemoryBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_while(monkeypatch, lambda: True, FULL)
    monkeypatch.setattr(budget, "_total_bytes", 1)
    with pytest.raises(GraderFault, match="device_memory"):
        judge.honest()


def test_a_fault_of_ours_that_comes_alone_stays_one(judge: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_while(monkeypatch, lambda: True, GraderFault("reference_failed", "no reason"))
    with pytest.raises(GraderFault, match="no reason"):
        judge.honest()
    monkeypatch.undo()
    assert judge.honest().correct
