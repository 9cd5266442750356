import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


batch_size = 4096
dim = 16384


def get_inputs():
    return [torch.randn(batch_size, dim) * 2]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 33, "dim": 1000}
