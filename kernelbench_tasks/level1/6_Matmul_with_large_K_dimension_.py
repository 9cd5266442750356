import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product whose inner dimension is far longer than the outer ones."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 256
N = 256
K = 262144


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N) / K**0.5]


def get_init_inputs():
    return []


CPU_SIZES = {"M": 20, "N": 30, "K": 2000}
