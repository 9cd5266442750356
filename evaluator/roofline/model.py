"""Roofline figures from counted work and a GPU's peaks.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
"""

from dataclasses import dataclass

from evaluator.config import PrecisionPolicy
from evaluator.report import Roofline
from evaluator.roofline.peaks import Peaks

# fp32 work is held against the TF32 tensor-core rate: Triton's `tl.dot` uses it and passes the tolerance.
_UNIT_OF_DTYPE = {"float32": "tf32", "float64": "fp64", "bfloat16": "bf16", "float16": "fp16"}
# Where a downgrade is only marked, fp32 work may be done by whatever unit is fastest.
_HALF_UNITS = ("tf32", "bf16", "fp16")


@dataclass(frozen=True)
class Work:
    """What one call has to do: FLOPs counted on the reference, and the bytes that must move at least once.

    `flops_necessary`: no algebra removes any of the FLOPs; see `evaluator.roofline.necessary`. `required_bytes` are
    those bytes of the inputs that every right kernel has to read: None where nobody looked, and then all of them count.
    """

    flops: float
    input_bytes: int
    parameter_bytes: int
    output_bytes: int
    dtype: str
    flops_necessary: bool = False
    required_bytes: int | None = None

    @property
    def compulsory_bytes(self) -> int:
        return self.input_bytes + self.parameter_bytes + self.output_bytes

    @property
    def multiplies_fp32(self) -> bool:
        """Whether it has products that TF32 may round."""
        return self.flops > 0 and self.dtype == "float32"


def roofline(work: Work, peaks: Peaks, policy: PrecisionPolicy = "reject") -> Roofline:
    """t_min = max(FLOPs / peak, bytes / bandwidth), with the side that bounds it."""
    compute_ms = compute_floor_ms(work, peaks, policy)
    memory_ms = work.compulsory_bytes / (peaks.bandwidth_gb_s * 1e9) * 1e3
    return Roofline(
        t_min_ms=max(compute_ms, memory_ms, 1e-9),
        bound="compute" if compute_ms > memory_ms else "memory",
        arithmetic_intensity=work.flops / max(work.compulsory_bytes, 1),
        flops=work.flops,
        bytes=float(work.compulsory_bytes),
    )


def compute_floor_ms(work: Work, peaks: Peaks, policy: PrecisionPolicy = "reject") -> float:
    """FLOPs over the peak of the fastest unit that `policy` admits: a floor only where algebra removes none of them."""
    unit = _UNIT_OF_DTYPE.get(work.dtype, "tf32")
    rate = peaks.tflops[unit]
    if unit == "tf32" and policy == "mark":
        rate = max(peaks.tflops[name] for name in _HALF_UNITS)
    return work.flops / (rate * 1e12) * 1e3


def memory_floor_ms(work: Work, peaks: Peaks) -> float:
    """A time that no correct kernel can beat by moving bytes.

    What the output depends on must be read from memory after the flush. Of the outputs only what exceeds the L2 cache
    must have reached memory when the call ends. Parameters count where no FLOP can be saved; elsewhere a kernel may
    have folded them into fewer when it was constructed, as the sum over a product's columns folds its weights.
    """
    read = work.input_bytes if work.required_bytes is None else work.required_bytes
    if work.flops_necessary:
        read += work.parameter_bytes
    written = max(work.output_bytes - peaks.l2_mb * 1e6, 0.0)
    return (read + written) / (peaks.bandwidth_gb_s * 1e9) * 1e3
