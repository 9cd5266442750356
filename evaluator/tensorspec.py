"""Where a tensor lies in a shared segment, as numbers that are checked before anything is read there."""

import math
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

SegmentName = Literal["exchange", "arena"]
ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
MAX_DIMS = 16
ALIGNMENT_BYTES = 512


class SpecError(ValueError):
    """A description that fits no tensor inside its segment."""


@dataclass(frozen=True)
class TensorSpec:
    """`offset` is in bytes from the segment's start; `shape` and `stride` are in elements, as torch gives them."""

    segment: SegmentName
    offset: int
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def extent_bytes(self) -> int:
        """Bytes from the first to past the last element that the strides reach."""
        if 0 in self.shape:
            return 0
        last = sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))
        return (last + 1) * ITEM_BYTES[self.dtype]

    def to_json(self) -> dict[str, Any]:
        return {
            "segment": self.segment,
            "offset": self.offset,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "stride": list(self.stride),
        }

    @classmethod
    def from_json(cls, data: Any, segment_bytes: dict[str, int]) -> Self:
        """Check a description from a hostile peer against the segments' sizes. Raises SpecError."""
        if not isinstance(data, dict):
            raise SpecError("a tensor must be described by an object")
        segment, dtype = data.get("segment"), data.get("dtype")
        if not isinstance(segment, str) or segment not in segment_bytes:
            raise SpecError("unknown segment")
        if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
            raise SpecError("outputs of this dtype are not supported")
        shape, stride = _sizes(data.get("shape")), _sizes(data.get("stride"))
        offset = data.get("offset")
        if len(shape) != len(stride):
            raise SpecError("shape and stride differ in length")
        if math.prod(max(size, 1) for size in shape) >= 2**62:  # torch multiplies before it comes to a zero
            raise SpecError("the tensor is too large")
        if type(offset) is not int or offset < 0 or offset % ITEM_BYTES[dtype]:
            raise SpecError("the offset is no multiple of the element size")
        spec = cls(cast(SegmentName, segment), offset, dtype, shape, stride)
        if offset + spec.extent_bytes > segment_bytes[segment]:
            raise SpecError("the tensor reaches beyond its segment")
        return spec


def _sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_DIMS:
        raise SpecError(f"shape and stride are lists of at most {MAX_DIMS} numbers")
    if any(type(size) is not int or not 0 <= size < 2**48 for size in value):
        raise SpecError("shape and stride hold whole numbers of at least 0")
    return tuple(value)


def align(offset: int) -> int:
    """The next offset at which a tensor may start."""
    return -(-offset // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
