import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear map, minus a constant, times a constant, then the rectifier."""

    def __init__(self, in_features: int, out_features: int, subtract: float, multiply: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.subtract = subtract
        self.multiply = multiply

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return torch.relu((y - self.subtract) * self.multiply)


batch_size = 1024
in_features = 4096
out_features = 4096
subtract = 0.25
multiply = 1.5


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, subtract, multiply]


CPU_SIZES = {"batch_size": 40, "in_features": 70, "out_features": 50}
