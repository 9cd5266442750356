import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Softmax of scaled query-key products, times the values."""

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(Q, K, V)


batch_size = 16
heads = 16
length = 1024
dim = 64


def get_inputs():
    return [*(torch.randn(batch_size, heads, length, dim) for _ in range(3))]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 2, "heads": 2, "length": 50, "dim": 16}
