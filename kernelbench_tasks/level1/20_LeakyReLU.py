import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Leaky rectifier: negative elements keep a small share of their size."""

    def __init__(self, slope: float):
        super().__init__()
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(x, negative_slope=self.slope)


batch_size = 8192
dim = 8192
slope = 0.01


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [slope]


CPU_SIZES = {"batch_size": 33, "dim": 1000}
