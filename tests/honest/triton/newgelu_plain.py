# task: level1/88_MinGPTNewGelu
# style: tanh through the exponential, constant folded on the host
import math

import torch
import triton
import triton.language as tl

TWICE_ROOT = 2.0 * math.sqrt(2.0 / math.pi)


@triton.jit
def newgelu_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    inner = factor * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + offsets, x / (1.0 + tl.exp(-inner)), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        newgelu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), TWICE_ROOT, BLOCK=1024)
        return y
