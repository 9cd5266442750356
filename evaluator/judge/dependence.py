"""Which bytes of its inputs a task's output depends on: what the floor of a right kernel's time may count.

A sample of single elements is replaced, one after the other, and the output has to change each time. An input counts
with those of its elements that differ between draws, and only if every element of the sample mattered: a last step that
is taken, a stride that skips, or a result that algebra makes constant leaves it out. Too little counted only lowers the
floor; too much would refuse honest work.
"""

import time
from dataclasses import replace
from typing import Any

import torch

from evaluator.judge.compare import Tolerance
from evaluator.judge.reference import Reference, tensors
from evaluator.roofline.model import Work

SEEDS = (1, 2)
SAMPLES = 32
# Elements that do not differ between draws are drawn in vain: a triangular matrix has half of them.
DRAWN_PER_SAMPLE = 8
# Far enough out for any one element to show, also in a mean over a billion.
OUTLIER = 1e6
# An output has changed if it did so by far more than its rounding.
CHANGE_OF_MAX_FRAC = 1e-4
CHANGE_OF_NOISE = 10.0
CHANGE_OF_TOLERANCE_FRAC = 1e-2
# The mean of a large uniform sample is the same in every draw, and yet no constant.
SCALE = 3.0
BUDGET_S = 3.0
_CHUNK = 1 << 26


class Dependence:
    """What was found out about the tasks of one judge, so that each is looked into once."""

    def __init__(self) -> None:
        self._required: dict[tuple[str, str], int] = {}

    def complete(self, work: Work, reference: Reference, tolerance: Tolerance) -> Work:
        """The work of a task with its `required_bytes`; the caller holds the device."""
        key = (reference.task_id, reference.source)
        if key not in self._required:
            try:
                self._required[key] = required_bytes(reference, tolerance, *SEEDS)
            except torch.OutOfMemoryError:  # beside other grades; another time there may be room
                return replace(work, required_bytes=0)
        return replace(work, required_bytes=self._required[key])


def required_bytes(
    reference: Reference, tolerance: Tolerance, seed: int, other_seed: int, budget_s: float = BUDGET_S
) -> int:
    """Bytes of all inputs that count. Whatever is not shown within `budget_s` seconds does not count.

    Raises torch.OutOfMemoryError.
    """
    end = time.monotonic() + budget_s
    try:
        reference.construct(seed)
        return _Probe(reference, seed).required_bytes(other_seed, tolerance, end)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError):  # a task that takes no other values
        return 0


class _Probe:
    """One task under one seed: its inputs, its output, and how far that has to move to have changed."""

    def __init__(self, reference: Reference, seed: int) -> None:
        self._reference, self._seed = reference, seed
        self._inputs = reference.inputs(seed)
        versions = [tensor._version for tensor in tensors(self._inputs)]
        output = self._output()
        # An output that is the input needs no reading, and inputs that the call itself changes cannot be compared.
        owned = {tensor.untyped_storage().data_ptr() for tensor in tensors(self._inputs)}
        aliased = any(value.untyped_storage().data_ptr() in owned for value in output)
        self._expected = [value.clone() if aliased else value for value in output]
        again = self._output()
        noise = [_distance(a, b) for a, b in zip(self._expected, again, strict=True)]
        self._threshold = [
            max(CHANGE_OF_NOISE * apart, CHANGE_OF_MAX_FRAC * _largest(value))
            for apart, value in zip(noise, self._expected, strict=True)
        ]
        finite = all(bool(torch.isfinite(part).all()) for value in self._expected for part in _parts(value))
        unchanged = versions == [tensor._version for tensor in tensors(self._inputs)]
        self._usable = finite and unchanged and not aliased

    def required_bytes(self, other_seed: int, tolerance: Tolerance, end: float) -> int:
        others = self._reference.inputs(other_seed)
        if not self._usable or self._is_constant(others, tolerance):
            return 0
        others = tensors(others)
        counted = 0
        for tensor, other in zip(tensors(self._inputs), others, strict=True):
            if tensor.shape == other.shape and self._every_sample_matters(tensor.view(-1), other.view(-1), end):
                counted += _differing(tensor.view(-1), other.view(-1)) * tensor.element_size()
        return counted

    def _is_constant(self, others: list[Any], tolerance: Tolerance) -> bool:
        """Whether larger inputs of another draw give the same but for rounding, as where algebra leaves only zeros."""
        scaled = [_scaled(value) for value in others]
        outputs = zip(self._expected, tensors(self._reference.forward(scaled, self._seed)), strict=True)
        return all(_distance(a, b) <= CHANGE_OF_TOLERANCE_FRAC * tolerance.for_expected(a).absolute for a, b in outputs)

    def _every_sample_matters(self, flat: torch.Tensor, other: torch.Tensor, end: float) -> bool:
        if not flat.numel():
            return False
        generator = torch.Generator().manual_seed(self._seed)
        drawn = torch.randint(flat.numel(), (SAMPLES * DRAWN_PER_SAMPLE,), generator=generator).tolist()
        places = [place for place in drawn if bool(flat[place] != other[place])][:SAMPLES]
        outliers = _outliers(flat)
        return len(places) == SAMPLES and all(
            time.monotonic() < end and self._matters(flat, place, outliers or [other[place]]) for place in places
        )

    def _matters(self, flat: torch.Tensor, place: int, values: list[Any]) -> bool:
        before = flat[place].clone()
        try:
            for value in values:
                flat[place] = value
                if self._changed():
                    return True
            return False
        finally:
            flat[place] = before

    def _changed(self) -> bool:
        found = self._output()
        apart = (_distance(a, b) for a, b in zip(found, self._expected, strict=True))
        # Not a number means that it has changed, since the expected output is finite.
        return any(not a <= limit for a, limit in zip(apart, self._threshold, strict=True))

    def _output(self) -> list[torch.Tensor]:
        return tensors(self._reference.forward(self._inputs, self._seed))


def _scaled(value: Any) -> Any:
    return SCALE * value if isinstance(value, torch.Tensor) and value.dtype.is_floating_point else value


def _outliers(flat: torch.Tensor) -> list[Any]:
    """One of either sign; none where only values of the task's own make sense, as among indices."""
    if not flat.dtype.is_floating_point:
        return []
    outlier = min(OUTLIER * (_largest(flat) or 1.0), torch.finfo(flat.dtype).max / 16)
    return [outlier, -outlier]


def _largest(tensor: torch.Tensor) -> float:
    return max((float(part.abs().max()) for part in _parts(tensor)), default=0.0)


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest absolute difference; infinite for other shapes, NaN where one value is none."""
    if a.shape != b.shape:
        return float("inf")
    pairs = zip(_parts(a), _parts(b), strict=True)
    distances = [float((x - y).abs().max()) for x, y in pairs]
    return float("nan") if any(d != d for d in distances) else max(distances, default=0.0)


def _differing(a: torch.Tensor, b: torch.Tensor) -> int:
    return sum(int((x != y).sum()) for x, y in zip(a.split(_CHUNK), b.split(_CHUNK), strict=True))


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Pieces that leave room beside tensors which fill the device, in a type with a difference."""
    flat = tensor.reshape(-1)
    pieces = flat.split(_CHUNK) if flat.numel() else ()
    return [part if part.dtype.is_floating_point else part.to(torch.float64) for part in pieces]
