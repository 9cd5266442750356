# task: level1/47_Sum_reduction_over_a_dimension
# style: coalesced reduction over a middle dimension, kept as length one
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        offsets = (batch * rows + row[:, None]) * columns + column[None, :]
        total += tl.load(x_ptr + offsets, mask=(row[:, None] < rows) & (column[None, :] < columns), other=0.0)
    tl.store(y_ptr + batch * columns + column, tl.sum(total, axis=0), mask=column < columns)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        assert self.dim == 1
        batch, rows, columns = x.shape
        y = torch.empty((batch, 1, columns), device=x.device, dtype=x.dtype)
        sum_kernel[(batch, triton.cdiv(columns, 64))](x, y, rows, columns, ROWS=32, BLOCK=64)
        return y
