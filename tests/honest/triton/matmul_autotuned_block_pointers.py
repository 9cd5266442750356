# task: level1/2_Standard_matrix_multiplication_
# style: block pointers, tl.advance, autotuned tiles
import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
    triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
]


@triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (m, k), (k, 1), (row, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (k, n), (n, 1), (0, column), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k, BK):
        a_tile = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        b_tile = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        total += tl.dot(a_tile, b_tile)
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(c_ptr, (m, n), (n, 1), (row, column), (BM, BN), (1, 0))
    tl.store(c, total, boundary_check=(0, 1))


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        m, k = A.shape
        n = B.shape[1]
        C = A.new_empty((m, n))
        matmul_kernel[lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"]))](A, B, C, m, n, k)
        return C
