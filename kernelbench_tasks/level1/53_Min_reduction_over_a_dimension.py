import torch
import torch.nn as nn


class Model(nn.Module):
    """Smallest element along one dimension."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.amin(x, dim=self.dim)


batch_size = 64
rows = 2048
columns = 2047
reduce_dim = 1


def get_inputs():
    return [torch.randn(batch_size, rows, columns)]


def get_init_inputs():
    return [reduce_dim]


CPU_SIZES = {"batch_size": 4, "rows": 70, "columns": 90}
