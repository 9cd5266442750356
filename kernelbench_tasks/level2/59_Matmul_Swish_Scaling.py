import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear map, swish, then a constant factor."""

    def __init__(self, in_features: int, out_features: int, scale: float):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.matmul(x)
        return y * torch.sigmoid(y) * self.scale


batch_size = 1024
in_features = 4096
out_features = 4096
scale = 2.0


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, scale]


CPU_SIZES = {"batch_size": 40, "in_features": 70, "out_features": 50}
