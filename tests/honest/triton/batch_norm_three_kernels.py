# task: level1/33_BatchNorm
# style: partial sums by atomics, statistics, then normalization; scratch zeroed each call
import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(x_ptr, sum_ptr, square_ptr, channels, area, BLOCK: tl.constexpr):
    image, channel = tl.program_id(0).to(tl.int64), tl.program_id(1)
    base = x_ptr + (image * channels + channel) * area
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, area, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(base + offsets, mask=offsets < area, other=0.0)
        total += x
        squares += x * x
    tl.atomic_add(sum_ptr + channel, tl.sum(total, axis=0))
    tl.atomic_add(square_ptr + channel, tl.sum(squares, axis=0))


@triton.jit
def normalize_kernel(
    x_ptr, y_ptr, sum_ptr, square_ptr, weight_ptr, bias_ptr, channels, area, count, eps, BLOCK: tl.constexpr
):
    plane = tl.program_id(0).to(tl.int64)
    channel = plane % channels
    mean = tl.load(sum_ptr + channel) / count
    variance = tl.load(square_ptr + channel) / count - mean * mean
    scale = tl.load(weight_ptr + channel) / tl.sqrt(variance + eps)
    shift = tl.load(bias_ptr + channel) - mean * scale
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + plane * area + offsets, mask=offsets < area)
    tl.store(y_ptr + plane * area + offsets, x * scale + shift, mask=offsets < area)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = torch.nn.BatchNorm2d(features)

    def forward(self, x):
        images, channels, height, width = x.shape
        area = height * width
        sums = torch.zeros((2, channels), device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        sums_kernel[(images, channels)](x, sums[0], sums[1], channels, area, BLOCK=1024)
        normalize_kernel[(images * channels, triton.cdiv(area, 1024))](
            x, y, sums[0], sums[1], self.bn.weight, self.bn.bias, channels, area, images * area, self.bn.eps, BLOCK=1024
        )
        return y
