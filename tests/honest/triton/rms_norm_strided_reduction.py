# task: level1/36_RMSNorm_
# style: reduction over a strided dimension in a two-dimensional tile
import torch
import triton
import triton.language as tl


@triton.jit
def rms_kernel(x_ptr, y_ptr, channels, area, eps, C: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    pixel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.arange(0, C)
    mask = (channel[:, None] < channels) & (pixel[None, :] < area)
    offsets = (image * channels + channel[:, None]) * area + pixel[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / channels + eps)
    tl.store(y_ptr + offsets, x * scale[None, :], mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        y = torch.empty_like(x)
        images, channels = x.shape[0], x.shape[1]
        area = x.numel() // (images * channels)
        grid = (images, triton.cdiv(area, 64))
        rms_kernel[grid](x, y, channels, area, self.eps, C=triton.next_power_of_2(channels), BLOCK=64)
        return y
