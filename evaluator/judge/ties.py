"""Indices at ties: where several elements are equal, any of them is a right answer of argmax, topk and sort."""

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
        shape = _index_shape(expected.shape, value.shape, dim)
        if shape is None:
            continue
        pair = [index.reshape(shape).to(torch.int64) for index in (found, expected)]
        if all(_in_range(index, value.shape[dim]) for index in pair):
            a, b = (value.gather(dim, index) for index in pair)
            if torch.equal(a, b) and _distinct(pair[0], dim):
                return True
    return False


def _index_shape(shape: torch.Size, of: torch.Size, dim: int) -> tuple[int, ...] | None:
    """The shape of indices along `dim` of a tensor of shape `of`: that dimension dropped, one, or any number."""
    others = (*of[:dim], *of[dim + 1 :])
    if shape == others:
        return (*of[:dim], 1, *of[dim + 1 :])
    kept = len(shape) == len(of) and (*shape[:dim], *shape[dim + 1 :]) == others
    return tuple(shape) if kept else None


def _distinct(index: torch.Tensor, dim: int) -> bool:
    """Whether no element is selected twice: topk and sort name each of several equal ones once."""
    return not bool((index.sort(dim).values.diff(dim=dim) == 0).any())


def _in_range(index: torch.Tensor, size: int) -> bool:
    return not index.numel() or bool((index.min() >= 0) & (index.max() < size))
