"""Runs a reference with its reductions and products changed underneath: cut short, replayed, reordered or rounded."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.audit.operators import REDUCTIONS, TAKEN_APART, WITH_INDICES, Product, Reduction, product_of

_TF32_LOW_BITS = 13


class Change(Protocol):
    """What is done to each reduction and each product; returning NotImplemented leaves it as it is."""

    def reduction(self, operator: Any, about: Reduction, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result in place of the operator's."""

    def product(self, operator: Any, about: Product, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result in place of the operator's."""


class Nothing:
    """Leaves everything as it is: the base of those that change only one sort."""

    def reduction(self, operator: Any, about: Reduction, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return NotImplemented

    def product(self, operator: Any, about: Product, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return NotImplemented


class Recording(Nothing):
    """Keeps what every reduction gave."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def reduction(self, operator: Any, about: Reduction, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self.results.append(operator(*arguments, **keywords))
        return self.results[-1]


class Replaying(Nothing):
    """Answers every reduction with what it gave on other inputs: the generator's constants for measured statistics."""

    def __init__(self, results: list[Any]) -> None:
        self._results = iter(results)

    def reduction(self, operator: Any, about: Reduction, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = next(self._results, NotImplemented)
        if isinstance(result, tuple):
            return tuple(value.clone() for value in result)
        return result.clone() if isinstance(result, torch.Tensor) else result


class Subsampling(Nothing):
    """Reduces and multiplies over the first `share` of the elements, scaled up to stand for all."""

    def __init__(self, share: float) -> None:
        self._share = share
        self.calls = 0

    def reduction(self, operator: Any, about: Reduction, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        value = arguments[0]
        dims = _dims(about, arguments, value)
        flat = about.dims is None or not dims
        source = value.reshape(-1) if flat else value
        dim = 0 if flat else max(dims, key=lambda d: int(source.shape[d]))
        kept = self._kept(int(source.shape[dim])) if source.dim() else None
        if kept is None:
            return NotImplemented
        self.calls += 1
        factor = source.shape[dim] / kept
        result = operator(source.narrow(dim, 0, kept), *arguments[1:], **keywords)
        if about.scale == "sum":
            return result * factor
        return result * factor**0.5 if about.scale == "norm" else result

    def product(self, operator: Any, about: Product, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        left, right = arguments[about.left], arguments[about.right]
        kept = self._kept(int(left.shape[about.left_dim]))
        if kept is None:
            return NotImplemented
        self.calls += 1
        factor = left.shape[about.left_dim] / kept
        changed = list(arguments)
        changed[about.left] = left.narrow(about.left_dim % left.dim(), 0, kept) * factor
        changed[about.right] = right.narrow(about.right_dim % right.dim(), 0, kept)
        return operator(*changed, **keywords)

    def _kept(self, size: int) -> int | None:
        kept = int(size * self._share)
        return kept if 0 < kept < size else None


class Reversing(Nothing):
    """Sums in the opposite order: another order is as right as torch's."""

    def reduction(self, operator: Any, about: Reduction, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if operator in WITH_INDICES:
            return NotImplemented
        dims = _dims(about, arguments, arguments[0]) or list(range(arguments[0].dim()))
        return operator(arguments[0].flip(dims), *arguments[1:], **keywords)

    def product(self, operator: Any, about: Product, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        changed = list(arguments)
        changed[about.left] = arguments[about.left].flip(about.left_dim)
        changed[about.right] = arguments[about.right].flip(about.right_dim)
        return operator(*changed, **keywords)


class Tf32(Nothing):
    """Hands products their fp32 operands as a tensor core takes them: rounded to ten bits of mantissa, or cut off."""

    def __init__(self, *, cut: bool) -> None:
        self._bias = 0 if cut else 1 << (_TF32_LOW_BITS - 1)

    def product(self, operator: Any, about: Product, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        changed = list(arguments)
        for at in (about.left, about.right):
            changed[at] = self._rounded(arguments[at])
        return operator(*changed, **keywords)

    def _rounded(self, value: torch.Tensor) -> torch.Tensor:
        if value.dtype != torch.float32:
            return value
        bits = value.contiguous().view(torch.int32) + self._bias
        return (bits & -(1 << _TF32_LOW_BITS)).view(torch.float32)


@contextmanager
def rewritten(change: Change) -> Iterator[None]:
    """Inside, every operator of torch goes through `change`, attention by its plain formula."""
    with sdpa_kernel(SDPBackend.MATH), _Mode(change):
        yield


class _Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, change: Change) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._change = change

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func in TAKEN_APART:
            with self:
                return TAKEN_APART[func](*args, **keywords)
        result: Any = NotImplemented
        if (reduction := REDUCTIONS.get(func)) is not None:
            result = self._change.reduction(func, reduction, args, keywords)
        elif (product := product_of(func, args)) is not None:
            result = self._change.product(func, product, args, keywords)
        else:
            with self:  # what torch itself makes of other operators
                result = func.decompose(*args, **keywords)
        return func(*args, **keywords) if result is NotImplemented else result


def _dims(about: Reduction, arguments: tuple[Any, ...], value: torch.Tensor) -> list[int]:
    """The reduced dimensions; empty where all are."""
    if about.dims is None or len(arguments) <= about.dims or arguments[about.dims] is None:
        return []
    given = arguments[about.dims]
    return [int(dim) % max(value.dim(), 1) for dim in (given if isinstance(given, list | tuple) else [given])]
