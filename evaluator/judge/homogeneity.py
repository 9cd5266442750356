"""Operators for which scaling a row of the first input scales the same row of the output, as in a matrix product.

They allow a trial that half precision inside cannot pass: rows scaled by powers of two far beyond its range.
"""

from typing import Any

import torch

from evaluator.judge.reference import Reference
from evaluator.runner.rng import seed_torch

PROBE_EXPONENT = 3
TRIAL_EXPONENT = 20
_AGREEMENT = 1e-3


def row_scales(inputs: list[Any], seed: int, exponent: int) -> torch.Tensor:
    """One power of two between 2^-exponent and 2^exponent for each row of the first input, exact in fp32."""
    first = inputs[0]
    seed_torch(seed)
    exponents = torch.randint(-exponent, exponent + 1, (first.shape[0],), device=first.device)
    return torch.exp2(exponents.to(first.dtype))


def scale_rows(tensor: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """A copy with every row (index of the first dimension) multiplied by its scale."""
    return tensor * scales.view(-1, *[1] * (tensor.dim() - 1))


def scale_first(inputs: list[Any], scales: torch.Tensor) -> list[Any]:
    """The inputs with the rows of the first one scaled."""
    return [scale_rows(inputs[0], scales), *inputs[1:]]


def is_homogeneous(reference: Reference, inputs: list[Any], output: Any, seed: int) -> bool:
    """Whether the reference commutes with the scaling of rows, found out by trying it."""
    if not _eligible(inputs, output):
        return False
    scales = row_scales(inputs, seed, PROBE_EXPONENT)
    scaled = reference.forward(scale_first(inputs, scales), seed)
    expected = scale_rows(output, scales)
    distance = torch.linalg.vector_norm(scaled - expected, dtype=torch.float64)
    return bool(distance <= _AGREEMENT * torch.linalg.vector_norm(expected, dtype=torch.float64))


def _eligible(inputs: list[Any], output: Any) -> bool:
    if not inputs or not isinstance(inputs[0], torch.Tensor) or not isinstance(output, torch.Tensor):
        return False
    first = inputs[0]
    rows = first.dim() > 0 and output.dim() > 0 and first.shape[0] == output.shape[0] and first.shape[0] > 1
    return rows and first.dtype == torch.float32 == output.dtype
