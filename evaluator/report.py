"""The result of one grade, as frozen records that refuse impossible combinations."""

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from evaluator.verdicts import Stage, Verdict


def _require_finite(owner: str, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{owner}.{name} must be finite, not {value}")


@dataclass(frozen=True)
class Timing:
    """Paired measurements of the reference and the candidate.

    `t_*_ms` are medians over the pairs; `speedup` is the median of the paired ratios t_ref / t_new, with the 95 %
    confidence interval of that median.
    """

    t_ref_ms: float
    t_new_ms: float
    speedup: float
    speedup_ci95: tuple[float, float]
    pairs: int
    t_ref_p20_ms: float | None = None
    t_ref_p80_ms: float | None = None
    t_new_p20_ms: float | None = None
    t_new_p80_ms: float | None = None
    t_ref_ieee_ms: float | None = None

    def __post_init__(self) -> None:
        low, high = self.speedup_ci95
        measured = {name: value for name, value in vars(self).items() if name.startswith("t_")}
        _require_finite("Timing", **measured, speedup=self.speedup, speedup_ci95_low=low, speedup_ci95_high=high)
        if min(self.t_ref_ms, self.t_new_ms, self.speedup) <= 0 or self.pairs < 1:
            raise ValueError("a timing needs positive times, a positive speedup and at least one pair")


@dataclass(frozen=True)
class Roofline:
    """The least time the work can take on this device: max(FLOPs / peak, bytes / bandwidth)."""

    t_min_ms: float
    bound: str
    arithmetic_intensity: float
    flops: float
    bytes: float

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in vars(self).items() if name != "bound"}
        _require_finite("Roofline", **numbers)
        if self.bound not in ("compute", "memory"):
            raise ValueError(f"Roofline.bound is 'compute' or 'memory', not {self.bound!r}")


@dataclass(frozen=True)
class Report:
    """One verdict with everything that was measured on the way to it.

    `phases` maps a phase's name to its seconds. `environment` says where it was graded. `warnings` are findings
    that do not change the verdict, `rules` the ids of the rules that a refused submission broke. An `audit` graded the
    reference itself, and is no ground for a reward.
    """

    verdict: Verdict
    feedback: str
    timing: Timing | None = None
    roofline: Roofline | None = None
    roofline_violation: bool = False
    suspicious: bool = False
    max_abs_err: float | None = None
    error_ratio: float | None = None
    custom_kernel_share: float | None = None
    kernels: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    audit: bool = False

    def __post_init__(self) -> None:
        if self.timing is not None and self.verdict.stage.order < Stage.TIMING.order:
            raise ValueError(f"a {self.verdict} report cannot hold a timing")
        if self.verdict is Verdict.CORRECT and self.timing is None:
            raise ValueError("a correct report needs a timing")
        if self.rules and self.verdict is Verdict.CORRECT:
            raise ValueError("what breaks a rule is not correct")
        if self.roofline_violation and self.verdict is not Verdict.REJECTED_TIMING:
            raise ValueError("an impossible time is rejected")
        _require_finite(
            "Report",
            max_abs_err=self.max_abs_err,
            error_ratio=self.error_ratio,
            custom_kernel_share=self.custom_kernel_share,
        )

    @property
    def stage(self) -> Stage:
        return self.verdict.stage

    @property
    def correct(self) -> bool:
        return self.verdict is Verdict.CORRECT

    @property
    def roofline_frac(self) -> float | None:
        """t_min / t_new, or None where the device has no known roofline."""
        if self.roofline is None or self.timing is None:
            return None
        return self.roofline.t_min_ms / self.timing.t_new_ms

    @property
    def ref_roofline_frac(self) -> float | None:
        """t_min / t_ref, or None where the device has no known roofline."""
        if self.roofline is None or self.timing is None:
            return None
        return self.roofline.t_min_ms / self.timing.t_ref_ms

    def result(self) -> dict[str, Any]:
        """The `result` object of the API: measurements by their public names, no NaN and no infinity."""
        timing, roofline = self.timing, self.roofline
        return {
            "correct": self.correct,
            "feedback": self.feedback,
            "max_abs_err": self.max_abs_err,
            "error_ratio": self.error_ratio,
            "speedup": timing.speedup if timing else None,
            "speedup_ci95": list(timing.speedup_ci95) if timing else None,
            "t_ref_ms": timing.t_ref_ms if timing else None,
            "t_new_ms": timing.t_new_ms if timing else None,
            "t_ref_ieee_ms": timing.t_ref_ieee_ms if timing else None,
            "pairs": timing.pairs if timing else None,
            "t_min_ms": roofline.t_min_ms if roofline else None,
            "bound": roofline.bound if roofline else None,
            "arithmetic_intensity": roofline.arithmetic_intensity if roofline else None,
            "roofline_frac": self.roofline_frac,
            "ref_roofline_frac": self.ref_roofline_frac,
            "roofline_violation": self.roofline_violation,
            "suspicious": self.suspicious,
            "custom_kernel_share": self.custom_kernel_share,
            "kernels": self.kernels,
            "warnings": self.warnings,
            "rules": self.rules,
            **({"audit": True} if self.audit else {}),
        }

    def to_json(self) -> dict[str, Any]:
        """A lossless JSON form, for the way from judge to worker; `from_json` reads it back."""
        data = asdict(self)
        data["verdict"] = str(self.verdict)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        known = {f.name for f in fields(cls)}
        if unknown := set(data) - known:
            raise ValueError(f"unknown report fields: {', '.join(sorted(unknown))}")
        values = dict(data)
        values["verdict"] = Verdict(values["verdict"])
        if values.get("timing") is not None:
            timing = dict(values["timing"])
            timing["speedup_ci95"] = tuple(timing["speedup_ci95"])
            values["timing"] = Timing(**timing)
        if values.get("roofline") is not None:
            values["roofline"] = Roofline(**values["roofline"])
        return cls(**values)
