import torch
import torch.nn as nn


class Model(nn.Module):
    """One independent matrix product per batch element."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.bmm(A, B)


batch_size = 64
m = 512
k = 1024
n = 2048


def get_inputs():
    return [torch.randn(batch_size, m, k), torch.randn(batch_size, k, n) / k**0.5]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 3, "m": 40, "k": 70, "n": 50}
