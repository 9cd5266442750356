import torch
import torch.nn as nn


class Model(nn.Module):
    """Running sum along one dimension."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, dim=self.dim)


batch_size = 8192
length = 16384
dim = 1


def get_inputs():
    return [torch.randn(batch_size, length)]


def get_init_inputs():
    return [dim]


CPU_SIZES = {"batch_size": 20, "length": 700}
