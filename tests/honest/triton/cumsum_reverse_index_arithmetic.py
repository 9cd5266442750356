# task: level1/91_cumsum_reverse
# style: reads backwards by index arithmetic instead of flipping
import torch
import triton
import triton.language as tl


@triton.jit
def suffix_sum_kernel(x_ptr, y_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = 0.0
    for start in range(0, length, BLOCK):
        offsets = length - 1 - (start + tl.arange(0, BLOCK))
        mask = offsets >= 0
        x = tl.load(x_ptr + row * length + offsets, mask=mask, other=0.0)
        tl.store(y_ptr + row * length + offsets, tl.cumsum(x, axis=0) + carry, mask=mask)
        carry += tl.sum(x, axis=0)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        y = torch.empty_like(x)
        suffix_sum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
        return y
