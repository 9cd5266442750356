import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Linear map, scaled, then the leaky rectifier."""

    def __init__(self, in_features: int, out_features: int, multiplier: float, slope: float):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.multiplier = multiplier
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(self.gemm(x) * self.multiplier, negative_slope=self.slope)


batch_size = 1024
in_features = 4096
out_features = 4096
multiplier = 2.0
slope = 0.1


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, multiplier, slope]


CPU_SIZES = {"batch_size": 40, "in_features": 70, "out_features": 50}
