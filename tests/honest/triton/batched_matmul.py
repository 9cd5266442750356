# task: level1/3_Batched_matrix_multiplication
# style: batch as the third grid axis, all strides passed
import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    sab, sam, sak, sbb, sbk, sbn, scb, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + batch * sab + i[:, None] * sam + p[None, :] * sak,
            mask=(i[:, None] < m) & (p[None, :] < k),
            other=0.0,
        )
        b = tl.load(
            b_ptr + batch * sbb + p[:, None] * sbk + j[None, :] * sbn,
            mask=(p[:, None] < k) & (j[None, :] < n),
            other=0.0,
        )
        total += tl.dot(a, b)
    c = c_ptr + batch * scb + i[:, None] * scm + j[None, :] * scn
    tl.store(c, total, mask=(i[:, None] < m) & (j[None, :] < n))


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        batch, m, k = A.shape
        n = B.shape[2]
        C = torch.empty((batch, m, n), device=A.device, dtype=A.dtype)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64), batch)
        bmm_kernel[grid](A, B, C, m, n, k, *A.stride(), *B.stride(), *C.stride(), BM=64, BN=64, BK=32)
        return C
