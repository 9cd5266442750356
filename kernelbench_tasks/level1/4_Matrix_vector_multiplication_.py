import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of a wide matrix and a column vector."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 2048
K = 131072


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, 1) / K**0.5]


def get_init_inputs():
    return []


CPU_SIZES = {"M": 24, "K": 3000}
