# task: level1/93_masked_cumsum
# style: boolean input viewed as bytes
import torch
import triton
import triton.language as tl


@triton.jit
def masked_cumsum_kernel(x_ptr, keep_ptr, y_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = 0.0
    for start in range(0, length, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < length
        keep = tl.load(keep_ptr + row * length + offsets, mask=inside, other=0)
        x = tl.load(x_ptr + row * length + offsets, mask=inside, other=0.0)
        x = tl.where(keep != 0, x, 0.0)
        tl.store(y_ptr + row * length + offsets, tl.cumsum(x, axis=0) + carry, mask=inside)
        carry += tl.sum(x, axis=0)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked_cumsum_kernel[(x.shape[0],)](x, mask.view(torch.uint8), y, x.shape[1], BLOCK=1024)
        return y
