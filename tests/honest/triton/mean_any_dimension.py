# task: level1/48_Mean_reduction_over_a_dimension
# style: moves the reduced dimension last with a view, then one program per output block
import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, y_ptr, outer, inner, length, s_outer, s_inner, s_length, BLOCK: tl.constexpr):
    out = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = out < outer * inner
    base = (out // inner).to(tl.int64) * s_outer + (out % inner) * s_inner
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(length):
        total += tl.load(x_ptr + base + i * s_length, mask=mask, other=0.0)
    tl.store(y_ptr + out, total / length, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        moved = x.movedim(self.dim, -1)
        outer, inner, length = moved.shape
        y = torch.empty((outer, inner), device=x.device, dtype=x.dtype)
        mean_kernel[(triton.cdiv(outer * inner, 256),)](x, y, outer, inner, length, *moved.stride(), BLOCK=256)
        return y
