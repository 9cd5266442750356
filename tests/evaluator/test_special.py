"""Special inputs: each recipe makes what its description promises, and invariants tell right from wrong."""

import json
import math
from typing import Any

import pytest
import torch

from evaluator.judge.compare import Mismatch
from evaluator.judge.invariants import require_invariants
from evaluator.judge.special import variant
from evaluator.tasks import special_inputs as recipes
from evaluator.tasks.special_inputs import Comparison, Recipe

SHAPE = (32, 4, 256)
RECIPES: list[Recipe] = [
    recipes.Signed(), recipes.Zeros(), recipes.Constant(), recipes.PeakedRows(), recipes.SignedScaled(),
    recipes.Sparse(), recipes.VariedRows(), recipes.ScaledRows(),
]  # fmt: skip


def made(recipe: Recipe, seed: int = 5, x: torch.Tensor | None = None) -> torch.Tensor:
    torch.manual_seed(0)
    (result,) = variant(recipe, seed)([torch.rand(SHAPE) if x is None else x])
    return result


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_shape_and_dtype_stay_and_all_is_finite(recipe: Recipe, dtype: torch.dtype) -> None:
    for shape in (SHAPE, (1,), (3, 1)):
        x = torch.rand(shape).to(dtype)
        before = x.clone()
        y = made(recipe, x=x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert y.is_contiguous()
        assert bool(torch.isfinite(y).all())
        assert torch.equal(x, before)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_only_floating_point_tensors_change_wherever_they_are(recipe: Recipe) -> None:
    inputs: list[Any] = [
        torch.arange(6),
        3,
        None,
        (torch.rand(8, 8), {"m": torch.rand(8, 8) > 0.5, "x": torch.rand(4)}),
    ]
    out = variant(recipe, 1)(inputs)
    assert torch.equal(out[0], inputs[0])
    assert out[1:3] == [3, None]
    assert torch.equal(out[3][1]["m"], inputs[3][1]["m"])
    assert not torch.equal(out[3][0], inputs[3][0])
    assert not torch.equal(out[3][1]["x"], inputs[3][1]["x"])


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe.name != "zeros"], ids=lambda recipe: recipe.name
)
def test_the_seed_decides(recipe: Recipe) -> None:
    assert torch.equal(made(recipe, 1), made(recipe, 1))
    assert not torch.equal(made(recipe, 1), made(recipe, 2))


def test_signed() -> None:
    x = made(recipes.Signed())
    assert -32 <= x.min() < -31
    assert 31 < x.max() <= 32
    assert abs(float(x.mean())) < 1


def test_zeros() -> None:
    assert not made(recipes.Zeros()).any()


def test_constant() -> None:
    values = {float(made(recipes.Constant(), seed).unique()) for seed in range(20)}  # raises where there are several
    assert len(values) > 6
    assert all(0.5 <= value <= 4 for value in values)
    pairs = [variant(recipes.Constant(), seed)([torch.rand(3), torch.rand(3)]) for seed in range(5)]
    assert any(first[0] != second[0] for first, second in pairs)


def test_a_constant_has_no_variance_by_whatever_formula() -> None:
    for seed in range(20):
        x = made(recipes.Constant(), seed, torch.rand(1 << 20))
        lanes = x.view(-1, 64).cumsum(0)[-1], (x * x).view(-1, 64).cumsum(0)[-1]  # one after another, as kernels add
        mean, squares = (lane.sum() / x.numel() for lane in lanes)
        assert float(squares - mean * mean) == 0.0


def test_peaked_rows() -> None:
    rows = made(recipes.PeakedRows()).reshape(-1, SHAPE[-1])
    peaks = rows.max(dim=1)
    assert bool(((rows > 1).sum(dim=1) == 1).all())
    assert float(rows.min()) >= -1
    assert peaks.values.min() >= 4
    assert peaks.values.max() <= 24
    assert len(peaks.indices.unique()) > 50
    assert len(peaks.values.unique()) == len(rows)


def test_signed_scaled() -> None:
    sizes = []
    for seed in range(60):
        x = made(recipes.SignedScaled(), seed)
        assert bool(x.min() < 0 < x.max())
        sizes.append(math.log10(float(x.abs().max())))
    assert -3.1 < min(sizes) < -2
    assert 2 < max(sizes) <= 3


def test_sparse() -> None:
    x = made(recipes.Sparse())
    held = x[x != 0]
    assert 0.9 * x.numel() * 0.001 - 1 <= held.numel() <= x.numel() * 0.001
    assert bool((held.abs() <= 8).all())
    assert bool(held.min() < 0 < held.max())
    assert int((made(recipes.Sparse(), x=torch.rand(5)) != 0).sum()) == 1


def test_varied_rows_are_scaled_and_shifted_each_by_their_own() -> None:
    torch.manual_seed(0)
    x = torch.rand(64, 512)
    y = made(recipes.VariedRows(outlier_frac=0.0), x=x)
    spread = y.std(dim=1) / x.std(dim=1)
    assert len(spread.unique()) == 64
    assert float(spread.max() / spread.min()) > 2
    assert float(spread.min()) > 0.1
    assert len(y.mean(dim=1).unique()) == 64
    assert int((y.abs() > 8 + 3).sum()) <= 1  # one outlier at the least


@pytest.mark.parametrize("recipe", [recipes.VariedRows(), recipes.ScaledRows()], ids=lambda recipe: recipe.name)
def test_no_statistic_stays_what_it_was(recipe: Recipe) -> None:
    """Of the whole tensor, of its channels, or of half of them: all change from draw to draw, by far more than 1 %."""
    torch.manual_seed(0)
    x = torch.rand(8, 6, 32, 32) + 0.5
    first, second = (made(recipe, seed, x=x) for seed in (1, 2))
    for dims in ((0, 1, 2, 3), (0, 2, 3), (1, 2, 3)):
        a, b = (y.std(dim=dims) for y in (first, second))
        assert float(((a - b).abs() / b).max()) > 0.01
    assert abs(float(first[..., :16].mean() / first.mean()) - 1) > 0.01


def test_scaled_rows_keep_signs_and_zeros() -> None:
    x = torch.rand(16, 64) - 0.5
    x[0, :5] = 0
    y = made(recipes.ScaledRows(), x=x)
    assert torch.equal(y.sign(), x.sign())
    assert float((y / x).nan_to_num(1.0).max()) <= 8.0


def test_outliers_are_few_and_of_all_sizes() -> None:
    plain, many = (made(recipes.VariedRows(outlier_frac=frac)) for frac in (0.0, 0.01))
    factors = (many / plain)[many != plain].abs().sort().values[1:]  # one outlier is there in any case
    assert 0.005 * plain.numel() < factors.numel() <= 0.012 * plain.numel()
    assert float(factors.min()) >= 8
    assert float(factors.max()) > 100
    assert float(factors.quantile(0.5)) < 40


def test_stored_form_is_lossless() -> None:
    special = recipes.SpecialInputs(
        (recipes.Signed(-4, 4), recipes.Sparse()),
        Comparison(1e-5, finite_only=True, invariants=("l2_norm_is_one",)),
        (recipes.VariedRows(shift=0.5),),
    )
    assert recipes.from_json(json.loads(json.dumps(recipes.to_json(special)))) == special
    with pytest.raises(ValueError, match="rows_prime"):
        recipes.from_json({"recipes": [], "timed": [], "comparison": {"invariants": ["rows_prime"]}})


RIGHT = torch.softmax(torch.randn(4, 8, generator=torch.Generator().manual_seed(1)), dim=-1)


@pytest.mark.parametrize(
    ("invariant", "right", "wrong", "says"),
    [
        ("rows_non_negative", RIGHT, RIGHT - RIGHT.max() * torch.eye(4, 8), "negative"),
        ("rows_sum_to_one", RIGHT, RIGHT * 1.002, "sum to one"),
        ("rows_sum_to_one", RIGHT, RIGHT + (torch.arange(4)[:, None] == 3) * 0.001, "sum to one"),
        ("l2_norm_is_one", RIGHT / RIGHT.norm(), RIGHT / RIGHT.norm() * 1.002, "norm"),
        ("rows_sum_to_one", RIGHT, RIGHT * float("nan"), "sum to one"),
    ],
)
def test_invariants(invariant: Any, right: torch.Tensor, wrong: torch.Tensor, says: str) -> None:
    comparison = Comparison(invariants=(invariant,))
    require_invariants(right, comparison)
    require_invariants((right, {"again": right}), comparison)
    with pytest.raises(Mismatch, match=says):
        require_invariants((right, wrong), comparison)
    require_invariants(wrong, Comparison())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_seed_makes_the_same_inputs_again_on_a_gpu(recipe: Recipe) -> None:
    """Places that are drawn twice keep one of two values there, and not always the same one."""
    x = torch.rand(8192, 8192, device="cuda")
    first, *others = (variant(recipe, 3)([x])[0] for _ in range(4))
    assert all(torch.equal(first, other) for other in others)
