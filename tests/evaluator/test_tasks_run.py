"""Our own tasks run at the interpreter's sizes, and no trivial answer passes on them."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.tasks import Catalogue, Task, source_for

TASKS = list(Catalogue(Path(__file__).parents[2] / "kernelbench_tasks"))
TOLERANCE = 1e-2
ELEMENTS_MAX = 100_000


def run(names: dict[str, Any], seed: int) -> tuple[list[Any], torch.Tensor]:
    torch.manual_seed(0)
    model = names["Model"](*names["get_init_inputs"]())
    torch.manual_seed(seed)
    inputs = names["get_inputs"]()
    with torch.no_grad():
        return inputs, model(*inputs)


def passes(task: Task, answer: torch.Tensor, expected: torch.Tensor) -> bool:
    if answer.shape != expected.shape:
        return False
    frac = task.special.comparison.atol_of_max_frac
    atol = TOLERANCE if frac is None else min(TOLERANCE, float(expected.abs().max()) * frac)
    return torch.allclose(answer.double(), expected.double(), atol=atol, rtol=TOLERANCE)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)
def test_task_runs_small_and_refuses_trivial_answers(task: Task) -> None:
    names: dict[str, Any] = {"__name__": "reference"}
    exec(source_for(task, "cpu"), names)
    inputs, expected = run(names, seed=1)
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    assert all(math.prod(value.shape) <= ELEMENTS_MAX for value in [*tensors, expected])
    assert torch.isfinite(expected).all()
    assert passes(task, expected, run(names, seed=1)[1]), "the reference disagrees with itself"
    _, other = run(names, seed=2)
    trivial = {
        "zeros": torch.zeros_like(expected),
        "ones": torch.ones_like(expected),
        "mean": torch.full_like(expected, expected.double().mean().item()) if expected.numel() > 1 else other,
        "another input's output": other,
        **{f"input {index}": value for index, value in enumerate(tensors)},
    }
    assert [name for name, answer in trivial.items() if passes(task, answer, expected)] == []


def test_there_are_sixty_over_three_levels() -> None:
    assert len(TASKS) >= 60
    assert {task.level for task in TASKS} == {1, 2, 3}
