import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Linear map, divided by a constant, then GELU."""

    def __init__(self, in_features: int, out_features: int, divisor: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.divisor = divisor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x) / self.divisor)


batch_size = 1024
in_features = 4096
out_features = 4096
divisor = 0.5


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, divisor]


CPU_SIZES = {"batch_size": 40, "in_features": 70, "out_features": 50}
