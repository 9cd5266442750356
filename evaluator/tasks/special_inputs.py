"""The table of tasks that are checked on more than their own generator's inputs, or more strictly.

Why: many generators draw from [0, 1), on which an identity passes for ReLU, and outputs as small as a wide softmax's
pass for zeros at the usual tolerance. Everything here is told to the policy. It is data: the judge makes the tensors.

A recipe is applied to every floating-point tensor of `get_inputs()`, keeping shape, dtype and device, with a hidden
seed. A *row* is a slice along the last dimension. What each one makes is written at its class, once.
"""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Signed:
    """Independent uniform values in [low, high]."""

    low: float = -32.0
    high: float = 32.0
    name: Literal["signed"] = "signed"

    @property
    def disclosed(self) -> str:
        return f"uniform values in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class Zeros:
    """Zero everywhere."""

    name: Literal["zeros"] = "zeros"

    @property
    def disclosed(self) -> str:
        return "all zeros"


@dataclass(frozen=True)
class Constant:
    """One value everywhere, drawn once per tensor, uniform in [low, high]."""

    low: float = 0.5
    high: float = 4.0
    name: Literal["constant"] = "constant"

    @property
    def disclosed(self) -> str:
        return "one constant everywhere"


@dataclass(frozen=True)
class PeakedRows:
    """Uniform values in [-1, 1]; then, in each row, one element at a uniformly drawn index is set to a height of its
    own, uniform in [height_low, height_high]."""

    height_low: float = 4.0
    height_high: float = 24.0
    name: Literal["peaked_rows"] = "peaked_rows"

    @property
    def disclosed(self) -> str:
        return "rows that each have one peak, of varying place and height"


@dataclass(frozen=True)
class SignedScaled:
    """Uniform values in [-1, 1] times one factor per tensor, 10 to a power uniform in [log10_low, log10_high]."""

    log10_low: float = -3.0
    log10_high: float = 3.0
    name: Literal["signed_scaled"] = "signed_scaled"

    @property
    def disclosed(self) -> str:
        return (
            "values of both signs, scaled as a whole by a factor between "
            f"1e{self.log10_low:g} and 1e{self.log10_high:g}"
        )


@dataclass(frozen=True)
class Sparse:
    """Zero but for a share `density_frac` of the elements (at least one), at uniformly drawn places, which are uniform
    in [low, high]."""

    density_frac: float = 0.001
    low: float = -8.0
    high: float = 8.0
    name: Literal["sparse"] = "sparse"

    @property
    def disclosed(self) -> str:
        return "zeros with a few large values of both signs"


@dataclass(frozen=True)
class VariedRows:
    """The generator's own values x, changed row by row: x * s + t with s = 2 to a power uniform in [-log2_scale,
    log2_scale] and t uniform in [-shift, shift], both drawn once per row; then a share `outlier_frac` of all elements
    is multiplied by `outlier_factor`."""

    log2_scale: float = 2.0
    shift: float = 2.0
    outlier_frac: float = 1e-4
    outlier_factor: float = 8.0
    name: Literal["varied_rows"] = "varied_rows"

    @property
    def disclosed(self) -> str:
        return "rows of varying scale and shift, with a few outliers"


Recipe = Signed | Zeros | Constant | PeakedRows | SignedScaled | Sparse | VariedRows
Invariant = Literal["rows_non_negative", "rows_sum_to_one", "l2_norm_is_one"]


@dataclass(frozen=True)
class Comparison:
    """How outputs are compared where the usual tolerance is too wide.

    `atol` = min(configured, max|reference| * `atol_of_max_frac`), taken anew for every trial; the relative tolerance
    stays. With `finite_only` any NaN or infinity is wrong. Invariants hold within `invariant_tolerance`, absolutely:
    rows (along the last dimension) without negative elements, rows that sum to one, one L2 norm of one over all.
    """

    atol_of_max_frac: float | None = None
    finite_only: bool = False
    invariants: tuple[Invariant, ...] = ()
    invariant_tolerance: float = 1e-3


@dataclass(frozen=True)
class SpecialInputs:
    """`recipes` add one correctness trial each; `timed` recipes are applied to the inputs of timed calls."""

    recipes: tuple[Recipe, ...] = ()
    comparison: Comparison = field(default_factory=Comparison)
    timed: tuple[Recipe, ...] = ()

    @property
    def disclosed(self) -> list[str]:
        """What the policy is told, one sentence each."""
        told = []
        if self.recipes:
            told.append(f"Further trials at the same shapes use {'; '.join(r.disclosed for r in self.recipes)}.")
        if self.timed:
            told.append(f"Timed inputs have {'; '.join(r.disclosed for r in self.timed)}.")
        if (frac := self.comparison.atol_of_max_frac) is not None:
            told.append(f"The absolute tolerance shrinks to {frac:g} of the largest element of the expected output.")
        if self.comparison.finite_only:
            told.append("NaN and infinity are wrong in every trial.")
        return told + [_TOLD[invariant] for invariant in self.comparison.invariants]


_TOLD: dict[Invariant, str] = {
    "rows_non_negative": "No element of the output may be negative.",
    "rows_sum_to_one": "Each row of the output must sum to one.",
    "l2_norm_is_one": "The L2 norm of the whole output must be one.",
}

_ACTIVATION = SpecialInputs(recipes=(Signed(), Zeros()))
_SOFTMAX = SpecialInputs(
    recipes=(Constant(), PeakedRows()),
    comparison=Comparison(1e-5, finite_only=True, invariants=("rows_non_negative", "rows_sum_to_one")),
    timed=(VariedRows(),),
)
_FROBENIUS = SpecialInputs(
    recipes=(Constant(), SignedScaled(), Sparse()),
    comparison=Comparison(1e-5, finite_only=True, invariants=("l2_norm_is_one",)),
    timed=(VariedRows(),),
)

_TABLE: dict[str, SpecialInputs] = {
    "level1/19_ReLU": _ACTIVATION,
    "level1/20_LeakyReLU": _ACTIVATION,
    "level1/29_Softplus": _ACTIVATION,
    "level1/31_ELU": _ACTIVATION,
    "level1/88_MinGPTNewGelu": _ACTIVATION,
    "level1/23_Softmax": _SOFTMAX,
    "level1/37_FrobeniusNorm_": _FROBENIUS,
    # the same reasoning for their neighbours: non-negative generators, or outputs that shrink with the row's length
    "level1/21_Sigmoid": _ACTIVATION,
    "level1/22_Tanh": _ACTIVATION,
    "level1/25_Swish": _ACTIVATION,
    "level1/26_GELU_": _ACTIVATION,
    "level1/27_SELU_": _ACTIVATION,
    "level1/28_HardSigmoid": _ACTIVATION,
    "level1/30_Softsign": _ACTIVATION,
    "level1/32_HardTanh": _ACTIVATION,
    "level1/39_L2Norm_": SpecialInputs(recipes=(Signed(),), comparison=Comparison(1e-5), timed=(VariedRows(),)),
    "level2/99_Matmul_GELU_Softmax": SpecialInputs(
        comparison=Comparison(1e-5, finite_only=True, invariants=("rows_non_negative", "rows_sum_to_one"))
    ),
}

_NONE = SpecialInputs()


def special_inputs(task_id: str) -> SpecialInputs:
    """What is special about a task's inputs and comparison; an empty record for most."""
    return _TABLE.get(task_id, _NONE)
