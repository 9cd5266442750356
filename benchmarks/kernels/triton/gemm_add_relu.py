import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemm_add_relu(a, w, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    rm = (pid_m * BM + tl.arange(0, BM)) % M
    rn = (pid_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a_at = a + rm[:, None] * K + rk[None, :]
    w_at = w + rn[None, :] * K + rk[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a_at, mask=rk[None, :] < K - k, other=0.0)
        right = tl.load(w_at, mask=rk[:, None] < K - k, other=0.0)
        total = tl.dot(left, right, total)
        a_at += BK
        w_at += BK
    om = pid_m * BM + tl.arange(0, BM)
    on = pid_n * BN + tl.arange(0, BN)
    total = tl.maximum(total + tl.load(bias + on, mask=on < N)[None, :], 0.0)
    tl.store(c + om[:, None] * N + on[None, :], total, mask=(om[:, None] < M) & (on[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, bias_shape=None):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape or (out_features,)))

    def forward(self, x):
        M, K = x.shape
        N = self.gemm.weight.shape[0]
        c = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
        gemm_add_relu[grid](
            x, self.gemm.weight, self.bias, c, M, N, K, BM=128, BN=128, BK=32, num_warps=8, num_stages=4
        )
        return c
