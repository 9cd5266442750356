"""Kinds of input beside a task's own generator, and stricter comparisons: the vocabulary of an audit's remedies.

Why: many generators draw from [0, 1), on which an identity passes for ReLU, and outputs as small as a wide softmax's
pass for zeros at the usual tolerance. Which task gets which is what its audit proved. All of it is told to the policy.
It is data: the judge makes the tensors.

A recipe is applied to every floating-point tensor of `get_inputs()`, keeping shape, dtype and device, with a hidden
seed. A *row* is a slice along the last dimension. What each one makes is written at its class, once.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal


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
    """One value everywhere, drawn once per tensor: a multiple of 1/4, uniform in [low, high]."""

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
    """The generator's own values x, changed as x * s + t; then a share `outlier_frac` of all elements is multiplied by
    `outlier_factor` / u, u uniform in [1 / outlier_tail, 1].

    s is 2 to a power within [-log2_scale, log2_scale], t lies within [-shift, shift]. Each exponent and each shift is a
    sum of equal shares: one drawn for the tensor, one for each index of each dimension but the last, and along every
    dimension a ramp of random slope. So no mean or norm over any of the dimensions stays what it was, and none over a
    part of the elements is that over all, however many there are.
    """

    log2_scale: float = 3.0
    shift: float = 3.0
    outlier_frac: float = 1e-4
    outlier_factor: float = 8.0
    outlier_tail: float = 64.0
    name: Literal["varied_rows"] = "varied_rows"

    @property
    def disclosed(self) -> str:
        return "rows and slices of varying scale and shift, with a few large outliers"


@dataclass(frozen=True)
class ScaledRows:
    """The generator's own values times s, as VariedRows draws it: for functions that take no other sign."""

    log2_scale: float = 3.0
    name: Literal["scaled_rows"] = "scaled_rows"

    @property
    def disclosed(self) -> str:
        return "rows and slices of varying scale"


Recipe = Signed | Zeros | Constant | PeakedRows | SignedScaled | Sparse | VariedRows | ScaledRows
Invariant = Literal["rows_non_negative", "rows_sum_to_one", "l2_norm_is_one"]


@dataclass(frozen=True)
class Comparison:
    """How outputs are compared where the usual tolerance is too wide.

    `atol` = min(configured, max|reference| * `atol_of_max_frac`), taken anew for every trial; the relative tolerance
    stays, unless `rtol` is smaller. With `finite_only` any NaN or infinity is wrong. Invariants hold within
    `invariant_tolerance`, absolutely: rows (along the last dimension) without negative elements, rows that sum to one,
    one L2 norm of one over all.
    """

    atol_of_max_frac: float | None = None
    rtol: float | None = None
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
        if self.comparison.rtol is not None:
            told.append(f"The relative tolerance is {self.comparison.rtol:g}.")
        if self.comparison.finite_only:
            told.append("NaN and infinity are wrong in every trial.")
        return told + [_TOLD[invariant] for invariant in self.comparison.invariants]


_TOLD: dict[Invariant, str] = {
    "rows_non_negative": "No element of the output may be negative.",
    "rows_sum_to_one": "Each row of the output must sum to one.",
    "l2_norm_is_one": "The L2 norm of the whole output must be one.",
}

_RECIPES: dict[str, type[Recipe]] = {
    recipe().name: recipe
    for recipe in (Signed, Zeros, Constant, PeakedRows, SignedScaled, Sparse, VariedRows, ScaledRows)
}
NOTHING_SPECIAL = SpecialInputs()


def to_json(special: SpecialInputs) -> dict[str, Any]:
    """As it is stored with an audit."""
    comparison = asdict(special.comparison)
    return {
        "recipes": [asdict(recipe) for recipe in special.recipes],
        "timed": [asdict(recipe) for recipe in special.timed],
        "comparison": {**comparison, "invariants": list(special.comparison.invariants)},
    }


def from_json(data: dict[str, Any]) -> SpecialInputs:
    """Raises ValueError, KeyError or TypeError for what `to_json` did not write."""
    comparison = dict(data["comparison"])
    if unknown := set(comparison["invariants"]) - set(_TOLD):
        raise ValueError(f"unknown invariants: {', '.join(sorted(unknown))}")
    comparison["invariants"] = tuple(comparison["invariants"])
    recipes, timed = (tuple(_recipe(item) for item in data[key]) for key in ("recipes", "timed"))
    return SpecialInputs(recipes, Comparison(**comparison), timed)


def _recipe(data: dict[str, Any]) -> Recipe:
    return _RECIPES[data["name"]](**data)
