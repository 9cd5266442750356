"""Makes the tensors of special inputs from their recipes, under a hidden seed."""

from collections.abc import Callable
from typing import Any

import torch

from evaluator.runner.rng import seed_torch
from evaluator.tasks import special_inputs as recipes
from evaluator.tasks.special_inputs import Recipe


def variant(recipe: Recipe, seed: int) -> Callable[[list[Any]], list[Any]]:
    """A function that replaces every floating-point tensor of the inputs by what the recipe makes of it."""
    make = _MAKERS[type(recipe)]

    def apply(inputs: list[Any]) -> list[Any]:
        seed_torch(seed)
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
    # Sums of such values and of their squares are exact: a variance as the mean of squares less the square of the mean
    # is zero here, as it should be, and not a negative rounding error.
    return torch.full_like(x, round(_draw(recipe.low, recipe.high) * 4) / 4)


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
    at = _places(flat, count)
    flat[at] = torch.empty(at.shape, device=x.device, dtype=x.dtype).uniform_(recipe.low, recipe.high)
    return made


def _places(flat: torch.Tensor, count: int) -> torch.Tensor:
    """Up to `count` places in a flat tensor, each of them once: which of two values at one place stays is anybody's
    guess on a GPU, and the same seed has to make the same inputs again."""
    places: torch.Tensor = torch.randint(flat.numel(), (count,), device=flat.device).unique()
    return places


def _varied_rows(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    made = _scaled_rows(recipe, x)
    for shifts in _by_index(x, recipe.shift):
        made.add_(shifts.to(x.dtype))
    flat = made.view(-1)
    at = _places(flat, max(int(flat.numel() * recipe.outlier_frac), 1))
    tail = torch.empty(at.shape, device=x.device).uniform_(1 / recipe.outlier_tail, 1.0)
    flat[at] = flat[at] * (recipe.outlier_factor / tail).to(x.dtype)
    return made


def _scaled_rows(recipe: Any, x: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    for exponents in _by_index(x, recipe.log2_scale):
        made.mul_(exponents.exp2_().to(x.dtype))
    return made


def _by_index(x: torch.Tensor, bound: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors that sum up to within [-bound, bound] once broadcast: a value for each row, and a ramp along rows."""
    share = bound / (2 * max(x.dim(), 1))
    rows = torch.empty([1] * x.dim(), device=x.device).uniform_(-share, share)
    for dim, size in enumerate(x.shape[:-1]):
        along = [size if d == dim else 1 for d in range(x.dim())]
        rows = rows + torch.empty(along, device=x.device).uniform_(-share, share)
        rows = rows + _ramp(size, share, x.device).view(along)
    return rows, _ramp(x.shape[-1] if x.dim() else 1, share, x.device)


def _ramp(length: int, bound: float, device: torch.device) -> torch.Tensor:
    """From one value to its negative, at least half the bound either way."""
    end = _draw(0.5, 1.0) * bound * (1.0 if _draw(-1.0, 1.0) < 0 else -1.0)
    return torch.linspace(-end, end, length, device=device)


_MAKERS: dict[type, Callable[[Any, torch.Tensor], torch.Tensor]] = {
    recipes.Signed: _signed,
    recipes.Zeros: _zeros,
    recipes.Constant: _constant,
    recipes.PeakedRows: _peaked_rows,
    recipes.SignedScaled: _signed_scaled,
    recipes.Sparse: _sparse,
    recipes.VariedRows: _varied_rows,
    recipes.ScaledRows: _scaled_rows,
}
