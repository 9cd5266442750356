# task: level2/14_Gemm_Divide_Sum_Scaling
# style: algebra: the sum over outputs becomes a product with the summed weight
import torch
import triton
import triton.language as tl


@triton.jit
def column_sums_kernel(w_ptr, s_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.load(w_ptr + row[:, None] * columns + column[None, :], mask=mask, other=0.0)
    tl.store(s_ptr + column, tl.sum(total, axis=0), mask=column < columns)


@triton.jit
def dot_kernel(x_ptr, s_ptr, y_ptr, columns, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
        total += x * tl.load(s_ptr + column, mask=column < columns, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=0) * factor)


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(out_features, in_features) / in_features**0.5)
        self.scale = scale

    def forward(self, x):
        rows, columns = x.shape
        sums = torch.empty(columns, device=x.device, dtype=torch.float32)
        y = torch.empty((rows, 1), device=x.device, dtype=x.dtype)
        column_sums_kernel[(triton.cdiv(columns, 64),)](
            self.weight, sums, self.weight.shape[0], columns, ROWS=32, BLOCK=64
        )
        dot_kernel[(rows,)](x, sums, y, columns, self.scale / 2, BLOCK=1024)
        return y
