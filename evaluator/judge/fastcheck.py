"""The usual case of a comparison, all elements right, in one pass over device memory instead of a dozen."""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

_BLOCK = 4096
_BLOCKS_PER_PROGRAM = 8


@dataclass(frozen=True)
class Pass:
    """What one pass found: elements out of tolerance, and the sums that make the L2 distance."""

    wrong: int
    max_abs_err: float
    squared_error: float
    squared_norm: float


def applies(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether `check` can take these two."""
    return found.is_cuda and found.dtype == torch.float32 and found.is_contiguous() and expected.is_contiguous()


def check(found: torch.Tensor, expected: torch.Tensor, relative: float, absolute: float, *, finite_only: bool) -> Pass:
    """Compare two contiguous fp32 tensors of one shape; an infinite tolerance leaves NaN and infinity alone wrong."""
    count = found.numel()
    programs = max(triton.cdiv(count, _BLOCK * _BLOCKS_PER_PROGRAM), 1)
    partial = torch.empty((4, programs), dtype=torch.float32, device=found.device)
    unlimited = math.isinf(relative) or math.isinf(absolute)
    _check_kernel[(programs,)](
        found.view(-1),
        expected.view(-1),
        partial,
        count,
        programs,
        0.0 if unlimited else relative,  # infinity times zero would be NaN
        math.inf if unlimited else absolute,
        FINITE_ONLY=finite_only,
        BLOCK=_BLOCK,
        BLOCKS=_BLOCKS_PER_PROGRAM,
    )
    wrong, squared_error, squared_norm = partial[[0, 2, 3]].sum(dim=1, dtype=torch.float64).tolist()
    return Pass(int(wrong), float(partial[1].max()), squared_error, squared_norm)


@triton.jit
def _check_kernel(  # type: ignore[no-untyped-def]
    found,
    expected,
    partial,
    count,
    programs,
    relative,
    absolute,
    FINITE_ONLY: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    program = tl.program_id(0)
    wrong = tl.zeros((BLOCK,), tl.float32)
    largest = tl.zeros((BLOCK,), tl.float32)
    error_sum = tl.zeros((BLOCK,), tl.float32)
    norm_sum = tl.zeros((BLOCK,), tl.float32)
    for i in range(BLOCKS):
        offsets = (program.to(tl.int64) * BLOCKS + i) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < count
        a = tl.load(found + offsets, mask=mask, other=0.0)
        b = tl.load(expected + offsets, mask=mask, other=0.0)
        error = tl.abs(a - b)
        finite = error < float("inf")  # false for NaN too
        same = (a == b) | ((a != a) & (b != b))
        odd = ~finite if FINITE_ONLY else ~finite & ~same
        wrong += (odd | (finite & (error > absolute + relative * tl.abs(b)))).to(tl.float32)
        error = tl.where(finite, error, 0.0)
        norm = tl.where(finite, b, 0.0)
        largest = tl.maximum(largest, error)
        error_sum += error * error
        norm_sum += norm * norm
    tl.store(partial + program, tl.sum(wrong, axis=0))
    tl.store(partial + programs + program, tl.max(largest, axis=0))
    tl.store(partial + 2 * programs + program, tl.sum(error_sum, axis=0))
    tl.store(partial + 3 * programs + program, tl.sum(norm_sum, axis=0))
