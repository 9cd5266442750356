import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean hinge loss of predictions against labels of minus or plus one."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean(torch.clamp(1.0 - predictions * targets, min=0.0))


batch_size = 16384
dim = 8192


def get_inputs():
    scale = torch.rand(1) * 3 + 0.5
    return [torch.randn(batch_size, dim) * scale, torch.randint(0, 2, (batch_size, dim)).float() * 2 - 1]


def get_init_inputs():
    return []


CPU_SIZES = {"batch_size": 33, "dim": 500}
