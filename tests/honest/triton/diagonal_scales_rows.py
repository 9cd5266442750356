# task: level1/12_Matmul_with_diagonal_matrices_
# style: algebra instead of a product: each row is scaled by one number
import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows_kernel(a_ptr, b_ptr, c_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < columns
    b = tl.load(b_ptr + row * columns + offsets, mask=mask)
    tl.store(c_ptr + row * columns + offsets, tl.load(a_ptr + row) * b, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        C = torch.empty_like(B)
        scale_rows_kernel[(B.shape[0], triton.cdiv(B.shape[1], 1024))](A, B, C, B.shape[1], BLOCK=1024)
        return C
