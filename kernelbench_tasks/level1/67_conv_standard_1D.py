import torch
import torch.nn as nn


class Model(nn.Module):
    """Plain 1D convolution, without bias."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        self.conv1d = nn.Conv1d(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)


batch_size = 32
in_channels = 64
out_channels = 128
kernel_size = 3
length = 32768


def get_inputs():
    return [torch.randn(batch_size, in_channels, length)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]


CPU_SIZES = {"batch_size": 2, "in_channels": 5, "out_channels": 7, "length": 130}
