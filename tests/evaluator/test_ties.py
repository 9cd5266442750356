"""Indices: any of several equal elements is right, anything else is not."""

import pytest
import torch

from evaluator.judge.compare import Mismatch, Tolerance, compare

EXACT = Tolerance(0.0, 0.0)
X = torch.tensor([[1.0, 5.0, 5.0, 2.0], [7.0, 0.0, 7.0, 7.0], [3.0, 3.0, 1.0, 2.0]])


def right(found: torch.Tensor, expected: torch.Tensor, inputs: list[object]) -> bool:
    try:
        compare(found, expected, EXACT, inputs)
    except Mismatch:
        return False
    return True


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_argmax(dtype: torch.dtype, keepdim: bool) -> None:
    expected = torch.argmax(X, dim=1, keepdim=keepdim).to(dtype)

    def index(*values: int) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype).reshape(expected.shape)

    assert right(index(2, 3, 1), expected, [X])
    assert right(index(2, 3, 1), expected, [None, 3, X])
    assert not right(index(0, 3, 1), expected, [X])
    assert not right(index(2, 4, 1), expected, [X])
    assert not right(index(-2, 3, 1), expected, [X])
    assert not right(index(2, 3, 1), expected, [X.long()])
    assert not right(index(2, 3, 1), expected, [X[:2]])
    assert not right(index(2, 3, 1), expected, [])


def test_along_any_dimension_of_any_input() -> None:
    x = X.t().contiguous()
    expected = torch.argmax(x, dim=0)
    assert right(torch.tensor([2, 3, 1]), expected, [torch.ones(2), x])


def test_topk_and_sort_name_every_element_once() -> None:
    values, expected = torch.topk(X, 2, dim=1)
    other = torch.tensor([[2, 1], [3, 2], [1, 0]])
    compare((values, other), (values, expected), EXACT, [X])
    assert not right(torch.tensor([[2, 2], [3, 2], [1, 0]]), expected, [X])
    assert not right(torch.tensor([[2, 0], [3, 2], [1, 0]]), expected, [X])
    order = torch.argsort(X, dim=1, stable=True)
    swapped = order.clone()
    swapped[0, 2], swapped[0, 3] = order[0, 3], order[0, 2]
    assert right(swapped, order, [X])
    assert not right(order.flip(1), order, [X])


def test_without_inputs_indices_are_numbers() -> None:
    expected = torch.argmax(X, dim=1)
    with pytest.raises(Mismatch):
        compare(torch.tensor([2, 3, 1]), expected, EXACT)


def test_floats_know_no_ties() -> None:
    assert not right(torch.tensor([2.0, 3.0, 1.0]), torch.tensor([1.0, 0.0, 0.0]), [X])
