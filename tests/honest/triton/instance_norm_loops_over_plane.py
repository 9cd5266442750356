# task: level1/34_InstanceNorm
# style: one program per plane, three loops, exact two-pass variance
import torch
import triton
import triton.language as tl


@triton.jit
def instance_norm_kernel(x_ptr, y_ptr, weight_ptr, bias_ptr, channels, area, eps, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    x_ptr += plane * area
    y_ptr += plane * area
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, area, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < area, other=0.0)
    mean = tl.sum(total, axis=0) / area
    spread = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, area, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        off_mean = tl.where(offsets < area, tl.load(x_ptr + offsets, mask=offsets < area, other=0.0) - mean, 0.0)
        spread += off_mean * off_mean
    scale = tl.rsqrt(tl.sum(spread, axis=0) / area + eps) * tl.load(weight_ptr + plane % channels)
    bias = tl.load(bias_ptr + plane % channels)
    for start in range(0, area, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < area)
        tl.store(y_ptr + offsets, (x - mean) * scale + bias, mask=offsets < area)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = torch.nn.InstanceNorm2d(features, affine=True)

    def forward(self, x):
        y = torch.empty_like(x)
        channels, area = x.shape[1], x.shape[2] * x.shape[3]
        instance_norm_kernel[(x.shape[0] * channels,)](
            x, y, self.norm.weight, self.norm.bias, channels, area, self.norm.eps, BLOCK=1024
        )
        return y
