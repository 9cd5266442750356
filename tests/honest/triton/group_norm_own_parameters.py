# task: level1/35_GroupNorm_
# style: a parameter holder of its own under the reference's names
import torch
import triton
import triton.language as tl


class Affine(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))
        self.bias = torch.nn.Parameter(torch.zeros(features))


@triton.jit
def group_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, groups, per_group, area, eps, BLOCK: tl.constexpr):
    group = tl.program_id(0).to(tl.int64)
    size = per_group * area
    base = group * size
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + offsets, mask=offsets < size, other=0.0)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / size
    inverse = tl.rsqrt(tl.sum(squares, axis=0) / size - mean * mean + eps)
    first = group % groups * per_group
    for start in range(0, size, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < size
        channel = first + offsets // area
        x = tl.load(x_ptr + base + offsets, mask=mask)
        y = (x - mean) * inverse * tl.load(w_ptr + channel, mask=mask) + tl.load(b_ptr + channel, mask=mask)
        tl.store(y_ptr + base + offsets, y, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.norm = Affine(features)
        self.groups = groups

    def forward(self, x):
        y = torch.empty_like(x)
        images, channels = x.shape[:2]
        area = x.shape[2] * x.shape[3]
        group_norm_kernel[(images * self.groups,)](
            x, y, self.norm.weight, self.norm.bias, self.groups, channels // self.groups, area, 1e-5, BLOCK=2048
        )
        return y
