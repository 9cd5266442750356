import torch
import torch.nn as nn


class Model(nn.Module):
    """Tall matrix times a flat one: a large product with a short inner dimension."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 16384
N = 32


def get_inputs():
    return [torch.randn(M, N), torch.randn(N, M) / N**0.5]


def get_init_inputs():
    return []


CPU_SIZES = {"M": 150, "N": 20}
