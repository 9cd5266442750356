"""Compares what a candidate computed with what was expected, element by element, in chunks."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from evaluator.judge import fastcheck
from evaluator.judge.reference import tensors
from evaluator.judge.ties import equal_at_ties

CHUNK_ELEMENTS = 1 << 26
EXAMPLES = 4


@dataclass(frozen=True)
class Tolerance:
    """`allclose`: |found - expected| <= absolute + relative * |expected|.

    With `absolute_of_max_frac` the absolute part is at most that share of the largest expected magnitude; with
    `finite_only` NaN and infinity are wrong even where the reference has them.
    """

    relative: float
    absolute: float
    absolute_of_max_frac: float | None = None
    finite_only: bool = False

    def for_expected(self, expected: torch.Tensor) -> "Tolerance":
        """The tolerance of one tensor, its absolute part settled."""
        if self.absolute_of_max_frac is None or not expected.numel() or not expected.is_floating_point():
            return self
        largest = max(abs(float(bound)) for bound in torch.aminmax(expected))
        if not math.isfinite(largest):
            return self
        return replace(self, absolute=min(self.absolute, largest * self.absolute_of_max_frac))

    def growing_with(self, expected: Any) -> "Tolerance":
        """The absolute part at least the relative one of the largest expected magnitude."""
        floating = [tensor for tensor in tensors(expected) if tensor.numel() and tensor.is_floating_point()]
        largest = max((abs(float(bound)) for tensor in floating for bound in torch.aminmax(tensor)), default=0.0)
        if not math.isfinite(largest):
            return self
        return replace(self, absolute=max(self.absolute, self.relative * largest))


@dataclass
class Closeness:
    """How close all floating-point elements came, over every tensor of an output."""

    max_abs_err: float = 0.0
    squared_error: float = 0.0
    squared_norm: float = 0.0

    @property
    def relative_l2(self) -> float:
        """||found - expected|| / ||expected||, or 0 for an expected output of zeros."""
        return math.sqrt(self.squared_error / self.squared_norm) if self.squared_norm > 0 else 0.0


class Mismatch(Exception):
    """The outputs differ; the text says how, for the candidate's author."""


def compare(found: Any, expected: Any, tolerance: Tolerance, inputs: Any = None) -> Closeness:
    """Compare structure, shapes, dtypes and all values. Raises Mismatch.

    `inputs` are what the outputs were computed from: indices at ties are right if they select equal values of them.
    """
    closeness = Closeness()
    _Comparison(tolerance, closeness, inputs).compare(found, expected, "output")
    return closeness


def relative_l2(found: Any, expected: Any) -> float:
    """The relative L2 distance of two outputs of the same structure, without any tolerance."""
    closeness = Closeness()
    _Comparison(Tolerance(math.inf, math.inf), closeness, None).compare(found, expected, "output")
    return closeness.relative_l2


class _Comparison:
    def __init__(self, tolerance: Tolerance, closeness: Closeness, inputs: Any) -> None:
        self._tolerance = tolerance
        self._closeness = closeness
        self._inputs = inputs

    def compare(self, found: Any, expected: Any, where: str) -> None:
        if isinstance(expected, torch.Tensor):
            if not isinstance(found, torch.Tensor):
                raise Mismatch(f"{where}: expected a tensor, found {type(found).__name__}")
            self._compare_tensor(found, expected, where)
            return
        _require_same_form(found, expected, where)
        if isinstance(expected, list | tuple):
            for i, (a, b) in enumerate(zip(found, expected, strict=True)):
                self.compare(a, b, f"{where}[{i}]")
        elif isinstance(expected, dict):
            for key in expected:
                self.compare(found[key], expected[key], f"{where}[{key!r}]")
        elif isinstance(expected, float):
            a, b = (torch.tensor([value], dtype=torch.float64) for value in (found, expected))
            self._compare_tensor(a, b, where)
        elif found != expected:
            raise Mismatch(f"{where}: expected {expected!r}, found {found!r}")

    def _compare_tensor(self, found: torch.Tensor, expected: torch.Tensor, where: str) -> None:
        if found.shape != expected.shape:
            raise Mismatch(f"{where}: expected shape {tuple(expected.shape)}, found {tuple(found.shape)}")
        if found.dtype != expected.dtype:
            raise Mismatch(f"{where}: expected dtype {_name(expected)}, found {_name(found)}")
        tolerance = self._tolerance.for_expected(expected)
        if fastcheck.applies(found, expected) and self._right_at_once(found, expected, tolerance):
            return
        tally = _Tally(tolerance, tuple(expected.shape), self._closeness)
        for start, a, b in _chunks(found, expected):
            tally.add(start, a, b)
        if tally.wrong and not equal_at_ties(found, expected, self._inputs):
            raise Mismatch(f"{where}: {tally.describe()}")

    def _right_at_once(self, found: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
        """Whether one pass finds nothing wrong; where it does, the chunks are walked to say what."""
        seen = fastcheck.check(
            found, expected, tolerance.relative, tolerance.absolute, finite_only=tolerance.finite_only
        )
        if seen.wrong:
            return False
        self._closeness.max_abs_err = max(self._closeness.max_abs_err, seen.max_abs_err)
        self._closeness.squared_error += seen.squared_error
        self._closeness.squared_norm += seen.squared_norm
        return True


def _require_same_form(found: Any, expected: Any, where: str) -> None:
    if type(found) is not type(expected):
        raise Mismatch(f"{where}: expected {type(expected).__name__}, found {type(found).__name__}")
    if isinstance(expected, list | tuple) and len(found) != len(expected):
        raise Mismatch(f"{where}: expected {len(expected)} values, found {len(found)}")
    if isinstance(expected, dict) and list(found) != list(expected):
        raise Mismatch(f"{where}: expected keys {list(expected)}, found {list(found)}")


def _chunks(found: torch.Tensor, expected: torch.Tensor) -> Any:
    """Aligned flat pieces with the flat index of each; strided results are walked by their first dimension."""
    if found.is_contiguous() and expected.is_contiguous():
        a, b = found.view(-1), expected.view(-1)
        for start in range(0, a.numel(), CHUNK_ELEMENTS):
            yield start, a[start : start + CHUNK_ELEMENTS], b[start : start + CHUNK_ELEMENTS]
        return
    if found.dim() == 0:
        yield 0, found.reshape(-1), expected.reshape(-1)
        return
    row = max(expected[0].numel(), 1) if expected.shape[0] else 1
    step = max(CHUNK_ELEMENTS // row, 1)
    for first in range(0, expected.shape[0], step):
        piece = slice(first, first + step)
        yield first * row, found[piece].reshape(-1), expected[piece].reshape(-1)


class _Tally:
    """Adds up differences over the chunks of one tensor."""

    def __init__(self, tolerance: Tolerance, shape: tuple[int, ...], closeness: Closeness) -> None:
        self._tolerance = tolerance
        self._shape = shape
        self._closeness = closeness
        self.elements = self.wrong = 0
        self.max_abs_err = self.max_rel_err = 0.0
        self.non_finite = 0
        self._examples: list[str] = []

    def add(self, start: int, found: torch.Tensor, expected: torch.Tensor) -> None:
        self.elements += found.numel()
        if not (expected.is_floating_point() or expected.is_complex()):
            self._note(start, found != expected, found, expected)
            return
        if expected.dtype in (torch.float16, torch.bfloat16):
            found, expected = found.float(), expected.float()
        error = (found - expected).abs()
        limit = expected.abs().mul_(self._tolerance.relative).add_(self._tolerance.absolute)
        bad = error > limit
        finite = torch.isfinite(error)
        if not bool(finite.all()):
            # Infinities and NaN must stand exactly where the reference has them.
            same = (found == expected) | (found.isnan() & expected.isnan())
            bad = torch.where(finite, bad, ~same if not self._tolerance.finite_only else ~finite)
            self.non_finite += int((~torch.isfinite(found)).sum())
            error = torch.where(finite, error, torch.zeros_like(error))
        if error.numel():
            self.max_abs_err = max(self.max_abs_err, float(error.max()))
            self._closeness.max_abs_err = max(self._closeness.max_abs_err, self.max_abs_err)
            self._closeness.squared_error += float(torch.linalg.vector_norm(error, dtype=torch.float64)) ** 2
            norm = torch.linalg.vector_norm(torch.where(finite, expected.abs(), 0.0), dtype=torch.float64)
            self._closeness.squared_norm += float(norm) ** 2
        self._note(start, bad, found, expected)

    def _note(self, start: int, bad: torch.Tensor, found: torch.Tensor, expected: torch.Tensor) -> None:
        count = int(bad.sum())
        if not count:
            return
        self.wrong += count
        index = bad.nonzero().view(-1)
        if expected.is_floating_point() or expected.is_complex():
            a, b = found[index[:CHUNK_ELEMENTS]], expected[index[:CHUNK_ELEMENTS]]
            ratio = ((a - b).abs() / b.abs()).nan_to_num(0.0, 0.0, 0.0)  # zeros have no relative error
            self.max_rel_err = max(self.max_rel_err, float(ratio.max()))
        for i in index[: EXAMPLES - len(self._examples)].tolist():
            self._examples.append(
                f"  at {self._position(start + i)}: expected {_text(expected[i])}, found {_text(found[i])}"
            )

    def _position(self, flat: int) -> tuple[int, ...]:
        position = []
        for size in reversed(self._shape):
            position.append(flat % size)
            flat //= size
        return tuple(reversed(position))

    def describe(self) -> str:
        share = 100.0 * self.wrong / max(self.elements, 1)
        text = f"{self.wrong} of {self.elements} elements ({share:.3g} %) are wrong"
        if self.max_abs_err:
            text += f"; largest absolute error {self.max_abs_err:.4g}"
            text += f", relative {self.max_rel_err:.4g}" if self.max_rel_err else ""
        if self.non_finite:
            text += f"; {self.non_finite} elements are NaN or infinite"
        tolerances = f"(tolerance: absolute {self._tolerance.absolute:g}, relative {self._tolerance.relative:g})"
        return "\n".join([f"{text} {tolerances}; the first:", *self._examples])


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _text(value: torch.Tensor) -> str:
    item = value.item()
    return f"{item:.6g}" if isinstance(item, float) else str(item)
