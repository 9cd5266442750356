"""A task under audit: its reference with weights, its inputs of any kind, and whether an answer would be accepted."""

import copy
from dataclasses import dataclass
from typing import Any

import torch

from evaluator import tree
from evaluator.errors import GraderFault
from evaluator.judge.compare import Mismatch, Tolerance, compare
from evaluator.judge.invariants import require_invariants
from evaluator.judge.precision import finite, one_signed, random_signs
from evaluator.judge.reference import Reference, tensors
from evaluator.judge.special import variant
from evaluator.judge.work import count_work
from evaluator.runner.rng import seed_torch
from evaluator.tasks.special_inputs import Comparison, Recipe

HALF = 0.5  # honest answers have to stay within this share of the tolerance, so that luck does not decide
DRAWS = (1, 2)
REPLAYED = 1001  # added to a draw: other inputs of the same kind


@dataclass(frozen=True)
class Case:
    """One call: its inputs, of the kind `recipe` (None: the generator's own), and what is expected of it.

    `signed`: with random signs, as some tasks are timed.
    """

    recipe: Recipe | None
    draw: int
    signed: bool
    inputs: list[Any]
    expected: Any


class Subject:
    """The reference on one device. Raises GraderFault for a task that does not run."""

    def __init__(self, task_id: str, source: str, device: str, tolerance: float) -> None:
        self.reference = Reference(task_id, source, device)
        self.tolerance = tolerance
        try:
            self.reference.construct(DRAWS[0])
            inputs = self.reference.inputs(DRAWS[0])
            self.work, output = count_work(self.reference, inputs, DRAWS[0])
            _require_comparable(output)
            signed = self.reference.forward(self.inputs(None, 1, signed=True), 1)
        except GraderFault:
            raise
        except Exception as error:
            detail = f"{task_id}: {type(error).__name__}: {error}"
            raise GraderFault("broken_task", detail, retryable=False) from error
        self.input_elements = sum(tensor.numel() for tensor in tensors(inputs))
        products = self.work.multiplies_fp32
        self.timed_with_signs = products and finite(signed) and one_signed(inputs)

    def inputs(self, recipe: Recipe | None, draw: int, *, signed: bool = False) -> list[Any]:
        """Inputs of one kind; the same for the same draw."""
        made = self.reference.inputs(draw)
        made = made if recipe is None else variant(recipe, draw)(made)
        return random_signs(made, draw) if signed else made

    def case(self, recipe: Recipe | None, draw: int, *, signed: bool = False) -> Case:
        """A call of the reference, with its inputs as they were before it."""
        expected = self.reference.forward(self.inputs(recipe, draw, signed=signed), draw)
        return Case(recipe, draw, signed, self.inputs(recipe, draw, signed=signed), expected)

    def fresh(self, case: Case) -> list[Any]:
        """The inputs of a case once more, to be written to."""
        return self.inputs(case.recipe, case.draw, signed=case.signed)

    def sibling(self, case: Case) -> Case:
        """Another call on inputs of the same kind."""
        return self.case(case.recipe, case.draw + REPLAYED, signed=case.signed)

    def accepts(self, found: Any, case: Case, comparison: Comparison, *, share: float = 1.0) -> bool:
        """Whether the judge's comparison takes this answer, at a share of its usual tolerance."""
        width = self.tolerance * share
        frac = comparison.atol_of_max_frac
        relative = width if comparison.rtol is None else min(width, comparison.rtol * share)
        tolerance = Tolerance(relative, width, None if frac is None else frac * share, comparison.finite_only)
        if case.signed:
            tolerance = tolerance.growing_with(case.expected)
        try:
            compare(found, case.expected, tolerance, case.inputs)
            require_invariants(found, comparison)
        except Mismatch:
            return False
        return True

    def in_double(self, case: Case) -> Any:
        """The reference in float64, cast back. Raises whatever a model that insists on float32 raises."""
        model = copy.deepcopy(self.reference.model).double()
        inputs = _cast(case.inputs, torch.float64)
        seed_torch(case.draw)
        with torch.no_grad():
            return _cast_like(model(*inputs), case.expected)


def _require_comparable(output: Any) -> None:
    tree.encode(output, lambda leaf: {} if isinstance(leaf, torch.Tensor) else None)
    if not tensors(output) and not isinstance(output, int | float | bool):
        raise ValueError("the output holds no tensor and no number")


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value.clone()
    if isinstance(value, list | tuple):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, dict):
        return {key: _cast(item, dtype) for key, item in value.items()}
    return value


def _cast_like(value: Any, like: Any) -> Any:
    if isinstance(value, torch.Tensor) and isinstance(like, torch.Tensor):
        return value.to(like.dtype)
    if isinstance(value, list | tuple) and isinstance(like, list | tuple):
        return type(like)(_cast_like(a, b) for a, b in zip(value, like, strict=True))
    if isinstance(value, dict) and isinstance(like, dict):
        return {key: _cast_like(value[key], like[key]) for key in value}
    return value
