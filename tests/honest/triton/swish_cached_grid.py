# task: level1/25_Swish
# style: functools.lru_cache on the launch geometry
import functools

import torch
import triton
import triton.language as tl


@functools.lru_cache(maxsize=None)
def geometry(n):
    block = 2048 if n >= 1 << 20 else 1024
    return (triton.cdiv(n, block),), block


@triton.jit
def swish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid, block = geometry(x.numel())
        swish_kernel[grid](x, y, x.numel(), BLOCK=block)
        return y
