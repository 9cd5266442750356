"""Which operators reduce and which multiply, with where their operands and dimensions stand: what can be cut short.

Norms and softmaxes are taken apart by torch's own decompositions first, so that their statistics are reductions too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._decomp import get_decompositions

aten = torch.ops.aten

TAKEN_APART: dict[Any, Callable[..., Any]] = get_decompositions(
    [
        aten._softmax.default,
        aten._log_softmax.default,
        aten.native_layer_norm.default,
        aten.native_group_norm.default,
        aten.native_batch_norm.default,
        aten._native_batch_norm_legit.default,
        aten._native_batch_norm_legit.no_stats,
        aten.logsumexp.default,
    ]
)


@dataclass(frozen=True)
class Reduction:
    """`dims` is the position of the reduced dimensions among the arguments, None where everything is reduced.

    `scale` says what a result over a share of the elements is multiplied by to stand for all of them: `sum`, `norm`
    (the L2 norm) or None.
    """

    dims: int | None
    scale: str | None = None


@dataclass(frozen=True)
class Product:
    """Positions of both operands among the arguments, and the dimension of each that is summed over."""

    left: int
    right: int
    left_dim: int
    right_dim: int


REDUCTIONS: dict[Any, Reduction] = {
    aten.sum.default: Reduction(None, "sum"),
    aten.sum.dim_IntList: Reduction(1, "sum"),
    aten.mean.default: Reduction(None),
    aten.mean.dim: Reduction(1),
    aten.amax.default: Reduction(1),
    aten.amin.default: Reduction(1),
    aten.max.default: Reduction(None),
    aten.min.default: Reduction(None),
    aten.max.dim: Reduction(1),
    aten.min.dim: Reduction(1),
    aten.var.correction: Reduction(1),
    aten.std.correction: Reduction(1),
    aten.var_mean.correction: Reduction(1),
    aten.std_mean.correction: Reduction(1),
    aten.linalg_vector_norm.default: Reduction(2, "norm"),
    aten.norm.ScalarOpt_dim: Reduction(2, "norm"),
    aten.norm.Scalar: Reduction(None, "norm"),
}
# index results of these would name other elements once the order changes
WITH_INDICES = frozenset({aten.max.dim, aten.min.dim})

PRODUCTS: dict[Any, Product] = {
    aten.mm.default: Product(0, 1, -1, -2),
    aten.bmm.default: Product(0, 1, -1, -2),
    aten.addmm.default: Product(1, 2, -1, -2),
    aten.baddbmm.default: Product(1, 2, -1, -2),
    aten.addbmm.default: Product(1, 2, -1, -2),
    aten.mv.default: Product(0, 1, -1, -1),
    aten.addmv.default: Product(1, 2, -1, -1),
    aten.dot.default: Product(0, 1, -1, -1),
    aten.convolution.default: Product(0, 1, 1, 1),
}


def product_of(operator: Any, arguments: tuple[Any, ...]) -> Product | None:
    """How a call multiplies; None where it does not, or where a convolution is grouped and has no common sum."""
    product = PRODUCTS.get(operator)
    if operator is aten.convolution.default and product is not None:
        transposed, groups = bool(arguments[6]), int(arguments[8])
        if groups != 1:
            return None
        return Product(0, 1, 1, 0) if transposed else product
    return product
