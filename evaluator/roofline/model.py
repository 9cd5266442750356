"""Roofline figures from counted work and a GPU's peaks.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from dataclasses import dataclass

from evaluator.report import Roofline
from evaluator.roofline.peaks import Peaks

# fp32 work is held against the TF32 tensor-core rate: Triton's `tl.dot` uses it and passes the tolerance.
_UNIT_OF_DTYPE = {"float32": "tf32", "float64": "fp64", "bfloat16": "bf16", "float16": "fp16"}


@dataclass(frozen=True)
class Work:
    """What one call has to do: FLOPs counted on the reference, and the bytes that must move at least once."""

    flops: float
    input_bytes: int
    parameter_bytes: int
    output_bytes: int
    dtype: str

    @property
    def compulsory_bytes(self) -> int:
        return self.input_bytes + self.parameter_bytes + self.output_bytes


def roofline(work: Work, peaks: Peaks) -> Roofline:
    """t_min = max(FLOPs / peak, bytes / bandwidth), with the side that bounds it."""
    compute_ms = compute_floor_ms(work, peaks)
    memory_ms = work.compulsory_bytes / (peaks.bandwidth_gb_s * 1e9) * 1e3
    return Roofline(
        t_min_ms=max(compute_ms, memory_ms, 1e-9),
        bound="compute" if compute_ms > memory_ms else "memory",
        arithmetic_intensity=work.flops / max(work.compulsory_bytes, 1),
        flops=work.flops,
        bytes=float(work.compulsory_bytes),
    )


def compute_floor_ms(work: Work, peaks: Peaks) -> float:
    """FLOPs over the peak of the unit that does them: a floor only where algebra cannot remove any of them."""
    unit = _UNIT_OF_DTYPE.get(work.dtype, "tf32")
    return work.flops / (peaks.tflops[unit] * 1e12) * 1e3


def memory_floor_ms(work: Work, peaks: Peaks) -> float:
    """A time that no correct kernel can beat: inputs and parameters must be read from memory after the flush, and of
    the outputs only what exceeds the L2 cache must have reached memory when the call ends."""
    written = max(work.output_bytes - peaks.l2_mb * 1e6, 0.0)
    return (work.input_bytes + work.parameter_bytes + written) / (peaks.bandwidth_gb_s * 1e9) * 1e3
