import torch
import torch.nn as nn


class Model(nn.Module):
    """Swish (SiLU): each element times its own sigmoid."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)


batch_size = 8192
dim = 8192


def get_inputs():
    return [torch.randn(batch_size, dim) * 3]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 33, "dim": 1000}
