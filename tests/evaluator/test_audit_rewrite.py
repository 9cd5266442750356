"""References with their operators changed: what is honest stays the same, what is cut short does not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from evaluator.audit.rewrite import Nothing, Recording, Replaying, Reversing, Subsampling, Tf32, rewritten

STATISTICS: dict[str, Callable[[torch.Tensor], Any]] = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, (16,)),
    "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": nn.BatchNorm2d(4),
    "instance_norm": nn.InstanceNorm2d(4),
    "rms_norm": nn.RMSNorm(16),
    "frobenius": lambda x: x / torch.norm(x),
    "standard deviation": lambda x: x.std(),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "mean": lambda x: x.mean(dim=(1, 2)),
    "maximum": lambda x: torch.max(x, dim=1).values,
}
PRODUCTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "linear": nn.Linear(16, 5),
    "matmul": lambda x: x @ x,
    "einsum": lambda x: torch.einsum("bchw,bchv->bcwv", x, x),
    "conv": nn.Conv2d(4, 8, 3),
    "transposed conv": nn.ConvTranspose2d(4, 8, 3),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
}
CASES = {**STATISTICS, **PRODUCTS}


@pytest.fixture(autouse=True)
def _no_grad() -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def under(change: Any, model: Callable[[torch.Tensor], Any], x: torch.Tensor) -> torch.Tensor:
    with rewritten(change):
        result: torch.Tensor = model(x)
    return result


@pytest.mark.parametrize("name", CASES)
def test_honest_changes_leave_the_result(name: str) -> None:
    x = torch.rand(8, 4, 16, 16)
    expected = CASES[name](x)
    assert torch.allclose(under(Nothing(), CASES[name], x), expected, atol=1e-5, rtol=1e-5)
    assert torch.allclose(under(Reversing(), CASES[name], x), expected, atol=1e-5, rtol=1e-5)
    for cut in (False, True):
        assert torch.allclose(under(Tf32(cut=cut), CASES[name], x), expected, atol=5e-3, rtol=5e-3)


@pytest.mark.parametrize("name", CASES)
def test_half_of_every_sum_is_another_result(name: str) -> None:
    x = torch.rand(8, 4, 16, 16)
    change = Subsampling(0.5)
    found = under(change, CASES[name], x)
    assert change.calls
    assert not torch.allclose(found, CASES[name](x), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", STATISTICS)
def test_replayed_statistics_are_those_of_the_other_call(name: str) -> None:
    x, other = torch.rand(8, 4, 16, 16), 3 * torch.rand(8, 4, 16, 16) + 1
    recording = Recording()
    under(recording, STATISTICS[name], other)
    assert recording.results
    again = under(Replaying(recording.results), STATISTICS[name], other)
    assert torch.allclose(again, STATISTICS[name](other), atol=1e-5)
    wrong = under(Replaying(recording.results), STATISTICS[name], x)
    assert not torch.allclose(wrong, STATISTICS[name](x), atol=1e-2)


@pytest.mark.parametrize("name", PRODUCTS)
def test_tf32_is_felt(name: str) -> None:
    x = torch.randn(8, 4, 16, 16)
    cut, rounded = (under(Tf32(cut=cut), PRODUCTS[name], x) - PRODUCTS[name](x) for cut in (True, False))
    assert 0 < float(rounded.norm()) < float(cut.norm())


def test_scaled_up_samples_estimate_the_whole() -> None:
    x = torch.ones(32, 64)
    for model in (torch.sum, torch.norm, torch.mean, lambda x: x @ x.T, lambda x: x.sum(dim=1)):
        assert torch.allclose(under(Subsampling(0.5), model, x), model(x))
