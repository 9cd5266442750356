"""Properties that an output must have whatever the tolerance, such as rows that sum to one."""

from collections.abc import Callable
from typing import Any

import torch

from evaluator.judge.compare import Mismatch
from evaluator.judge.reference import tensors
from evaluator.tasks.special_inputs import Comparison


def require_invariants(found: Any, comparison: Comparison) -> None:
    """Check every tensor of an output. Raises Mismatch."""
    for name in comparison.invariants:
        holds, text = _CHECKS[name]
        for tensor in tensors(found):
            if not holds(tensor, comparison.invariant_tolerance):
                raise Mismatch(text)


def _non_negative(x: torch.Tensor, tolerance: float) -> bool:
    return bool(x.min() >= 0)


def _rows_sum_to_one(x: torch.Tensor, tolerance: float) -> bool:
    sums = x.sum(dim=-1, dtype=torch.float64)
    return bool((sums - 1.0).abs().max() <= tolerance)


def _unit_norm(x: torch.Tensor, tolerance: float) -> bool:
    return abs(float(torch.linalg.vector_norm(x, dtype=torch.float64)) - 1.0) <= tolerance


_CHECKS: dict[str, tuple[Callable[[torch.Tensor, float], bool], str]] = {
    "rows_non_negative": (_non_negative, "the output has negative elements"),
    "rows_sum_to_one": (_rows_sum_to_one, "the rows of the output do not sum to one"),
    "l2_norm_is_one": (_unit_norm, "the L2 norm of the output is not one"),
}
