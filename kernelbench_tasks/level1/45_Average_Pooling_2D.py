import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean of a window that slides over images; padding counts as zero."""

    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch_size = 32
features = 64
length = 256
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, features, length, length)]


def get_init_inputs():
    return [kernel_size, stride, padding]


CPU_SIZES = {"batch_size": 2, "features": 3, "length": 45}
