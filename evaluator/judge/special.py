"""Makes the tensors of special inputs from their recipes, under a hidden seed."""

from collections.abc import Callable
from typing import Any

import torch

from evaluator.tasks import special_inputs as recipes
from evaluator.tasks.special_inputs import Recipe


def variant(recipe: Recipe, seed: int) -> Callable[[list[Any]], list[Any]]:
    """A function that replaces every floating-point tensor of the inputs by what the recipe makes of it."""
    make = _MAKERS[type(recipe)]

    def apply(inputs: list[Any]) -> list[Any]:
        torch.manual_seed(seed)
        return [_replace(value, lambda tensor: make(recipe, tensor)) for value in inputs]

    return apply


def _replace(value: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return make(value) if value.is_floating_point() else value
    if isinstance(value, list | tuple):
        return type(value)(_replace(item, make) for item in value)
    if isinstance(value, dict):
        return {key: _replace(item, make) for key, item in value.items()}
    return value


def _uniform(like: torch.Tensor, low: float, high: float) -> torch.Tensor:
    return torch.empty_like(like).uniform_(low, high)


def _draw(low: float, high: float) -> float:
    return float(torch.empty(()).uniform_(low, high))


def _signed(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    return _uniform(x, recipe.low, recipe.high)


def _zeros(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)


def _constant(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, _draw(recipe.low, recipe.high))


def _peaked_rows(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    made = _uniform(x, -1.0, 1.0)
    rows = made.view(-1, made.shape[-1])
    at = torch.randint(rows.shape[1], (rows.shape[0], 1), device=x.device)
    heights = torch.empty(at.shape, device=x.device).uniform_(recipe.height_low, recipe.height_high)
    rows.scatter_(1, at, heights.to(x.dtype))
    return made


def _signed_scaled(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    return _uniform(x, -1.0, 1.0).mul_(10.0 ** _draw(recipe.log10_low, recipe.log10_high))


def _sparse(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros_like(x)
    flat = made.view(-1)
    count = max(int(flat.numel() * recipe.density_frac), 1)
    at = torch.randint(flat.numel(), (count,), device=x.device)
    flat[at] = torch.empty(count, device=x.device, dtype=x.dtype).uniform_(recipe.low, recipe.high)
    return made


def _varied_rows(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    rows = made.view(-1, made.shape[-1])
    column = (rows.shape[0], 1)
    exponents = torch.empty(column, device=x.device).uniform_(-recipe.log2_scale, recipe.log2_scale)
    shifts = torch.empty(column, device=x.device).uniform_(-recipe.shift, recipe.shift)
    rows.mul_(exponents.exp2_().to(x.dtype)).add_(shifts.to(x.dtype))
    flat = made.view(-1)
    at = torch.randint(flat.numel(), (max(int(flat.numel() * recipe.outlier_frac), 1),), device=x.device)
    flat[at] = flat[at] * recipe.outlier_factor
    return made


_MAKERS: dict[type, Callable[[Any, torch.Tensor], torch.Tensor]] = {
    recipes.Signed: _signed,
    recipes.Zeros: _zeros,
    recipes.Constant: _constant,
    recipes.PeakedRows: _peaked_rows,
    recipes.SignedScaled: _signed_scaled,
    recipes.Sparse: _sparse,
    recipes.VariedRows: _varied_rows,
}
