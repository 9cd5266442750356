"""Which gradings are inside the bounds that a number has to keep."""

import ast

import pytest

from benchmarks.accuracy_table import row
from benchmarks.sized_tasks import ON_CPU, ON_GPU, SizedTask
from evaluator.report import Report, Timing
from evaluator.verdicts import Verdict

TASK = SizedTask(1, "relu", 16, 1024)


def graded(speedups: list[float], t_new_ms: float) -> list[Report]:
    timings = [Timing(t_new_ms * ratio, t_new_ms, ratio, (ratio, ratio), 10) for ratio in speedups]
    return [Report(Verdict.CORRECT, "", timing=timing) for timing in timings]


@pytest.mark.parametrize(
    ("speedups", "t_new_ms", "holds"),
    [
        ([1.0] * 5, 1.0, True),
        ([0.996, 1.004, 1.0, 1.003, 0.999], 1.0, True),
        ([1.006] * 5, 1.0, False),  # the median
        ([1.006] * 5, 0.005, True),  # a short call may be as far off
        ([1.0, 1.0, 1.0, 1.0, 1.011], 1.0, False),  # one grade
        ([1.0, 1.0, 1.0, 1.0, 1.039], 0.005, True),
        ([1.0, 1.0, 1.0, 1.0, 1.041], 0.005, False),
        ([1.0] * 4, 1.0, None),
    ],
)
def test_the_reference_against_itself(speedups: list[float], t_new_ms: float, holds: bool | None) -> None:
    assert row(TASK, "A/A", graded(speedups, t_new_ms), None)["holds"] is holds


@pytest.mark.parametrize(
    ("speedups", "t_new_ms", "cupti_ms", "holds"),
    [
        ([2.0] * 5, 1.0, 1.0, True),
        ([2.0, 2.005, 1.995, 2.0, 2.0], 1.0, 0.985, True),
        ([2.0] * 5, 1.0, 0.97, False),  # CUPTI sees another time
        ([2.0, 2.05, 1.95, 2.0, 2.0], 1.0, 1.0, False),  # it varies
        ([2.0, 2.05, 1.95, 2.0, 2.0], 0.005, 0.003, True),  # a launch takes as long as the kernel
        ([2.0] * 5, 1.0, None, True),
    ],
)
def test_a_fixed_kernel(speedups: list[float], t_new_ms: float, cupti_ms: float | None, holds: bool) -> None:
    assert row(TASK, "A/B", graded(speedups, t_new_ms), cupti_ms)["holds"] is holds


def test_a_grade_that_fails_is_shown_and_does_not_hold() -> None:
    reports = [*graded([1.0] * 19, 1.0), Report(Verdict.INCORRECT, "off by one")]
    found = row(TASK, "A/A", reports, None)
    assert (found["holds"], found["failed"]) == (False, ["incorrect: off by one"])
    assert row(TASK, "A/A", [Report(Verdict.INCORRECT, "")], None)["holds"] is False
    assert row(TASK, "A/A", [], None)["holds"] is None


@pytest.mark.parametrize("task", [*ON_GPU, *ON_CPU], ids=lambda task: task.task_id)
def test_sized_tasks_are_modules_with_kernels(task: SizedTask) -> None:
    names = {getattr(node, "name", "") for node in ast.parse(task.source).body}
    assert {"Model", "get_inputs", "get_init_inputs"} <= names
    assert "ModelNew" in task.kernel
