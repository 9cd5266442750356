import torch
import torch.nn as nn


class Model(nn.Module):
    """A stack of matrices times one shared matrix."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


N = 16
M = 1024
K = 2048
L = 768


def get_inputs():
    return [torch.randn(N, M, K), torch.randn(K, L) / K**0.5]


def get_init_inputs():
    return []


CPU_SIZES = {"N": 3, "M": 40, "K": 70, "L": 50}
