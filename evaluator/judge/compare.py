"""Compares what a candidate computed with what was expected, element by element, in chunks."""

from dataclasses import dataclass
from typing import Any

import torch

CHUNK_ELEMENTS = 1 << 26
EXAMPLES = 4


@dataclass(frozen=True)
class Tolerance:
    """`allclose`: |found - expected| <= absolute + relative * |expected|."""

    relative: float
    absolute: float


class Mismatch(Exception):
    """The outputs differ; the text says how, for the candidate's author."""


def compare(found: Any, expected: Any, tolerance: Tolerance) -> float:
    """The largest absolute error over all floating-point elements. Raises Mismatch."""
    return _compare(found, expected, tolerance, "output")


def _compare(found: Any, expected: Any, tolerance: Tolerance, where: str) -> float:
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor):
            raise Mismatch(f"{where}: expected a tensor, found {type(found).__name__}")
        return _compare_tensor(found, expected, tolerance, where)
    if type(found) is not type(expected):
        raise Mismatch(f"{where}: expected {type(expected).__name__}, found {type(found).__name__}")
    if isinstance(expected, list | tuple):
        if len(found) != len(expected):
            raise Mismatch(f"{where}: expected {len(expected)} values, found {len(found)}")
        pairs = enumerate(zip(found, expected, strict=True))
        return max((_compare(a, b, tolerance, f"{where}[{i}]") for i, (a, b) in pairs), default=0.0)
    if isinstance(expected, dict):
        if list(found) != list(expected):
            raise Mismatch(f"{where}: expected keys {list(expected)}, found {list(found)}")
        return max((_compare(found[k], expected[k], tolerance, f"{where}[{k!r}]") for k in expected), default=0.0)
    return _compare_scalar(found, expected, tolerance, where)


def _compare_scalar(found: Any, expected: Any, tolerance: Tolerance, where: str) -> float:
    if isinstance(expected, float) and not isinstance(expected, bool):
        pair = (torch.tensor([found], dtype=torch.float64), torch.tensor([expected], dtype=torch.float64))
        return _compare_tensor(*pair, tolerance, where)
    if found != expected:
        raise Mismatch(f"{where}: expected {expected!r}, found {found!r}")
    return 0.0


def _compare_tensor(found: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance, where: str) -> float:
    if found.shape != expected.shape:
        raise Mismatch(f"{where}: expected shape {tuple(expected.shape)}, found {tuple(found.shape)}")
    if found.dtype != expected.dtype:
        raise Mismatch(f"{where}: expected dtype {_name(expected)}, found {_name(found)}")
    tally = _Tally(tolerance, tuple(expected.shape))
    for start, a, b in _chunks(found, expected):
        tally.add(start, a, b)
    if tally.wrong:
        raise Mismatch(f"{where}: {tally.describe()}")
    return tally.max_abs_err


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

    def __init__(self, tolerance: Tolerance, shape: tuple[int, ...]) -> None:
        self._tolerance = tolerance
        self._shape = shape
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
            bad = torch.where(finite, bad, ~same)
            self.non_finite += int((~torch.isfinite(found)).sum())
            error = torch.where(finite, error, torch.zeros_like(error))
        if error.numel():
            self.max_abs_err = max(self.max_abs_err, float(error.max()))
        self._note(start, bad, found, expected)

    def _note(self, start: int, bad: torch.Tensor, found: torch.Tensor, expected: torch.Tensor) -> None:
        count = int(bad.sum())
        if not count:
            return
        self.wrong += count
        index = bad.nonzero().view(-1)
        if expected.is_floating_point() or expected.is_complex():
            a, b = found[index[:CHUNK_ELEMENTS]], expected[index[:CHUNK_ELEMENTS]]
            ratio = ((a - b).abs() / b.abs().clamp_min(1e-30)).nan_to_num(0.0, 0.0, 0.0)
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
            text += f"; largest absolute error {self.max_abs_err:.4g}, relative {self.max_rel_err:.4g}"
        if self.non_finite:
            text += f"; {self.non_finite} elements are NaN or infinite"
        tolerances = f"(tolerance: absolute {self._tolerance.absolute:g}, relative {self._tolerance.relative:g})"
        return "\n".join([f"{text} {tolerances}; the first:", *self._examples])


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _text(value: torch.Tensor) -> str:
    item = value.item()
    return f"{item:.6g}" if isinstance(item, float) else str(item)
