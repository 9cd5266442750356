import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Exponential linear unit: alpha * (exp(x) - 1) below zero, identity above."""

    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.elu(x, alpha=self.alpha)


batch_size = 8192
dim = 8192
alpha = 1.0


def get_inputs():
    return [torch.randn(batch_size, dim) * 2]


def get_init_inputs():
    return [alpha]


CPU_SIZES = {"batch_size": 33, "dim": 1000}
