# task: level1/1_Square_matrix_multiplication_
# style: a fixed number of programs shares all (tile, K step) units evenly and joins partial tiles by atomics
import torch
import triton
import triton.language as tl


@triton.jit
def stream_k_kernel(a_ptr, b_ptr, c_ptr, m, n, k, per_program, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    steps = tl.cdiv(k, BK)
    columns = tl.cdiv(n, BN)
    units = tl.cdiv(m, BM) * columns * steps
    unit = tl.program_id(0) * per_program
    end = tl.minimum(unit + per_program, units)
    while unit < end:
        tile = unit // steps
        step = unit % steps
        stop = tl.minimum(steps, step + end - unit)
        i = tile // columns * BM + tl.arange(0, BM)
        j = tile % columns * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for s in range(step, stop):
            p = s * BK + tl.arange(0, BK)
            a = tl.load(a_ptr + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0)
            b = tl.load(b_ptr + p[:, None] * n + j[None, :], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0)
            total += tl.dot(a, b)
        tl.atomic_add(c_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))
        unit += stop - step


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        m, k = A.shape
        n = B.shape[1]
        C = torch.zeros((m, n), device=A.device, dtype=torch.float32)
        programs = 264 if A.is_cuda else 5
        units = triton.cdiv(m, 64) * triton.cdiv(n, 64) * triton.cdiv(k, 32)
        stream_k_kernel[(programs,)](A, B, C, m, n, k, triton.cdiv(units, programs), BM=64, BN=64, BK=32)
        return C
