"""Indices at ties: where several elements are equally large, any of them is a right answer of argmax and its kin."""

from typing import Any

import torch

_INDEX_TYPES = (torch.int64, torch.int32)


def equal_at_ties(found: torch.Tensor, expected: torch.Tensor, inputs: Any) -> bool:
    """Whether two integer outputs, read as indices along one dimension of an input, select equal values everywhere."""
    if expected.dtype not in _INDEX_TYPES or inputs is None:
        return False
    candidates = [value for value in inputs if isinstance(value, torch.Tensor) and value.is_floating_point()]
    return any(_select_equal(found, expected, value) for value in candidates)


def _select_equal(found: torch.Tensor, expected: torch.Tensor, value: torch.Tensor) -> bool:
    for dim in range(value.dim()):
        without = value.shape[:dim] + value.shape[dim + 1 :]
        kept = (*value.shape[:dim], 1, *value.shape[dim + 1 :])
        if expected.shape not in (without, kept):
            continue
        pair = [index.reshape(kept).to(torch.int64) for index in (found, expected)]
        if all(_in_range(index, value.shape[dim]) for index in pair):
            a, b = (value.gather(dim, index) for index in pair)
            if torch.equal(a, b):
                return True
    return False


def _in_range(index: torch.Tensor, size: int) -> bool:
    return not index.numel() or bool((index.min() >= 0) & (index.max() < size))
