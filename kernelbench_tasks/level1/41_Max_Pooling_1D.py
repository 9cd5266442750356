import torch
import torch.nn as nn


class Model(nn.Module):
    """Largest element of a window that slides over one dimension."""

    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch_size = 64
features = 192
length = 16384
kernel_size = 8
stride = 1
padding = 4


def get_inputs():
    return [torch.randn(batch_size, features, length)]


def get_init_inputs():
    return [kernel_size, stride, padding]


CPU_SIZES = {"batch_size": 3, "features": 5, "length": 300}
