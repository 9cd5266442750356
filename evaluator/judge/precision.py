"""How exact a kernel has to be: as exact as fp32 inputs with TF32 products, and no less.

The truth is the reference in IEEE fp32, whose own error (about 1e-6) is far under every limit here, and which is at
hand without a float64 pass over up to 17 GB. Inputs carry random signs: where all terms of a sum are positive, the
errors of rounding to bf16 average out and could not be told from TF32's.
"""

from typing import Any

import torch

from evaluator.judge.compare import relative_l2
from evaluator.judge.reference import Reference, tensors
from evaluator.runner.rng import seed_torch

ERROR_RATIO_MAX = 3.0
# A relative L2 error up to three times this is never called a downgrade.
ERROR_FLOOR = 1e-4
# Triton's `tl.dot` hands fp32 operands to the tensor core, which cuts off the 13 low bits of their mantissas (cuBLAS
# rounds): a bias of 6.8e-4 where terms are positive. The limit leaves room for that, and bf16 is beyond it (2.3e-3).
TRUNCATION_MARGIN = 1.5
_TF32_MASK = -(1 << 13)


def random_signs(inputs: list[Any], seed: int) -> list[Any]:
    """The inputs with the sign of every floating-point element drawn anew."""
    seed_torch(seed)
    return [
        _flip(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in inputs
    ]


def error_ratio(error: float, reference: Reference, inputs: list[Any], expected: Any, seed: int, flops: float) -> float:
    """The error in units of a third of the limit: above ERROR_RATIO_MAX it is a downgrade."""
    ratio = error / ERROR_FLOOR
    if ratio <= ERROR_RATIO_MAX or not flops:
        return ratio
    rounded = relative_l2(reference.forward(inputs, seed, "tf32"), expected)
    cut = relative_l2(_truncated_forward(reference, inputs, seed), expected)
    unit = max(ERROR_FLOOR, rounded, TRUNCATION_MARGIN * cut / ERROR_RATIO_MAX)
    return error / unit


def _flip(value: torch.Tensor) -> torch.Tensor:
    signs = torch.randint(0, 2, value.shape, device=value.device, dtype=torch.int8)
    return torch.where(signs.bool(), value, -value)


def _truncated_forward(reference: Reference, inputs: list[Any], seed: int) -> Any:
    """The reference on inputs and weights cut to TF32's mantissa."""
    kept = {name: value.clone() for name, value in reference.state().items()}
    try:
        for value in reference.state().values():
            value.copy_(_truncate(value))
        return reference.forward([_truncate(value) for value in inputs], seed)
    finally:
        for name, value in reference.state().items():
            value.copy_(kept[name])


def _truncate(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    return (value.contiguous().view(torch.int32) & _TF32_MASK).view(torch.float32)


def one_signed(inputs: list[Any]) -> bool:
    """Whether no floating-point element of the inputs is negative."""
    floating = [tensor for tensor in tensors(inputs) if tensor.is_floating_point() and tensor.numel()]
    return bool(floating) and all(bool(tensor.min() >= 0) for tensor in floating)


def finite(output: Any) -> bool:
    """Whether every floating-point element of an output is finite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors(output) if tensor.is_floating_point())
