# task: level1/27_SELU_
# style: module-level tl.constexpr constants used inside the kernel
import torch
import triton
import triton.language as tl

ALPHA = tl.constexpr(1.6732632423543772)
SCALE = tl.constexpr(1.0507009873554805)


@triton.jit
def selu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    negative = (tl.exp(tl.minimum(x, 0.0)) - 1.0) * ALPHA
    tl.store(y_ptr + offsets, tl.where(x > 0, x, negative) * SCALE, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        selu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
