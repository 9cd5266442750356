import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two lower triangular matrices, which is lower triangular again."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.tril(torch.matmul(A, B))


N = 4096


def get_inputs():
    return [torch.tril(torch.randn(N, N)), torch.tril(torch.randn(N, N) / N**0.5)]


def get_init_inputs():
    return []


CPU_SIZES = {"N": 100}
