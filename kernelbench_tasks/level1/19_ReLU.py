import torch
import torch.nn as nn


class Model(nn.Module):
    """Rectified linear unit: every negative element becomes zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


batch_size = 8192
dim = 8192


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 33, "dim": 1000}
