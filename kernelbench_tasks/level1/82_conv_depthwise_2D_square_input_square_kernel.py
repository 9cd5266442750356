import torch
import torch.nn as nn


class Model(nn.Module):
    """Depthwise convolution: each channel has one square kernel of its own."""

    def __init__(self, in_channels: int, kernel_size: int):
        super().__init__()
        self.conv2d = nn.Conv2d(in_channels, in_channels, kernel_size, groups=in_channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)


batch_size = 16
in_channels = 64
kernel_size = 3
size = 512


def get_inputs():
    return [torch.randn(batch_size, in_channels, size, size)]


def get_init_inputs():
    return [in_channels, kernel_size]


CPU_SIZES = {"batch_size": 2, "in_channels": 3, "size": 35}
