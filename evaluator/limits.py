"""Every number that bounds a grade, in one record; each is the default of a documented setting."""

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Limits:
    """Times in seconds, sizes in bytes."""

    source_bytes: int = 256 * 1024
    build_s: float = 180.0
    first_call_s: float = 120.0
    call_s: float = 30.0
    run_s: float = 300.0
    runner_memory_bytes: int = 16 * 1024**3
    feedback_bytes: int = 8 * 1024
    correctness_trials: int = 5
    timing_s: float = 10.0
    cpu_timing_s: float = 2.0
    timing_pairs_min: int = 3
    timing_pairs_max: int = 100
    tolerance: float = 1e-2
    roofline_reject_frac: float = 0.8
    suspicious_speedup: float = 50.0
    custom_kernel_share_min: float = 0.1
    build_cache_bytes: int = 4 * 1024**3

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**data)
