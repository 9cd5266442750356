import torch
import torch.nn as nn


class Model(nn.Module):
    """Diagonal matrix, given as the vector of its diagonal, times a full matrix."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.diag(A) @ B


N = 4096
M = 4096


def get_inputs():
    return [torch.randn(N), torch.randn(N, M)]


def get_init_inputs():
    return []


CPU_SIZES = {"N": 50, "M": 300}
