# task: level1/15_Matmul_for_lower_triangular_matrices
# style: skips the tiles that are zero, returns early from a program
import torch
import triton
import triton.language as tl


@triton.jit
def lower_kernel(a_ptr, b_ptr, c_ptr, n, B: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    i = row * B + tl.arange(0, B)
    j = column * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    if column > row:
        tl.store(c_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < n) & (j[None, :] < n))
        return
    for step in range(column, row + 1):
        p = step * B + tl.arange(0, B)
        a = tl.load(a_ptr + i[:, None] * n + p[None, :], mask=(i[:, None] < n) & (p[None, :] < n), other=0.0)
        b = tl.load(b_ptr + p[:, None] * n + j[None, :], mask=(p[:, None] < n) & (j[None, :] < n), other=0.0)
        total += tl.dot(a, b)
    total = tl.where(i[:, None] >= j[None, :], total, 0.0)
    tl.store(c_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < n) & (j[None, :] < n))


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        n = A.shape[0]
        C = torch.empty_like(A)
        tiles = triton.cdiv(n, 64)
        lower_kernel[(tiles, tiles)](A, B, C, n, B=64)
        return C
