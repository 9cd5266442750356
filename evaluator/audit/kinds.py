"""The general table of kinds of input: for which tasks each is meant, and what it shows. No task is named here."""

from dataclasses import dataclass
from typing import Literal

from evaluator.tasks.special_inputs import (
    Constant,
    PeakedRows,
    Recipe,
    ScaledRows,
    Signed,
    SignedScaled,
    Sparse,
    VariedRows,
    Zeros,
)

Property = Literal["elementwise", "rows_sum_to_one", "l2_norm_is_one"]


@dataclass(frozen=True)
class Kind:
    """`suits`: tasks with one of these properties get it with the first answer of that sort that passes; all others
    only where it rejects an answer that nothing before it does."""

    recipe: Recipe
    suits: tuple[Property, ...]
    shows: str


KINDS = (
    Kind(Signed(), ("elementwise",), "what a function does on both sides of zero, and far from it"),
    Kind(Zeros(), ("elementwise",), "what it does at zero itself, where many have their kink"),
    Kind(Constant(), ("rows_sum_to_one", "l2_norm_is_one"), "statistics that are not the generator's"),
    Kind(PeakedRows(), ("rows_sum_to_one",), "one element that outweighs its row"),
    Kind(SignedScaled(), ("l2_norm_is_one",), "another scale of everything"),
    Kind(Sparse(), ("l2_norm_is_one",), "a few elements that make up the norm"),
    Kind(VariedRows(), (), "means and norms that differ from row to row, from slice to slice and from call to call"),
    Kind(ScaledRows(), (), "the same for functions that take positive inputs only"),
)
# In the order in which they are tried for timed inputs: the task's own distribution stays where it can.
TIMED: tuple[Recipe, ...] = (VariedRows(), ScaledRows(), Signed(), SignedScaled())
# For tasks whose timed inputs carry random signs besides: there the tolerance grows with the largest element.
TIMED_WITH_SIGNS: tuple[Recipe, ...] = (ScaledRows(), Signed(), SignedScaled())
# Tightest first: the absolute tolerance as a share of the largest expected magnitude.
ATOL_LADDER = (1e-5, 1e-4, 1e-3)
# Loosest first: relative tolerances for outputs that hardly vary.
RTOL_LADDER = (3e-3, 1e-3, 3e-4)
