import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean squared difference of two tensors, one number."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean((predictions - targets) ** 2)


batch_size = 16384
dim = 8192


def get_inputs():
    scale = torch.rand(1) * 3 + 0.5
    return [torch.randn(batch_size, dim) * scale, torch.randn(batch_size, dim)]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 33, "dim": 500}
