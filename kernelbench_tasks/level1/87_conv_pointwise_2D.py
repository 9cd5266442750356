import torch
import torch.nn as nn


class Model(nn.Module):
    """Pointwise convolution: a linear map over the channels of every pixel."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)


batch_size = 16
in_channels = 64
out_channels = 128
size = 256


def get_inputs():
    return [torch.randn(batch_size, in_channels, size, size)]


def get_init_inputs():
    return [in_channels, out_channels]


CPU_SIZES = {"batch_size": 2, "in_channels": 20, "out_channels": 30, "size": 15}
