# task: level2/12_Gemm_Multiply_LeakyReLU
# style: the constant factor folded into copies of weight and bias in __init__
import torch
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, m, n, k, slope, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32) + tl.load(b_ptr + j, mask=j < n, other=0.0)[None, :]
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        x = tl.load(x_ptr + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0)
        w = tl.load(w_ptr + p[:, None] * n + j[None, :], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(x, w, total)
    total = tl.where(total > 0, total, total * slope)
    tl.store(y_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features, multiplier, slope):
        super().__init__()
        self.gemm = torch.nn.Linear(in_features, out_features)
        self.slope = slope
        with torch.no_grad():
            packed = (self.gemm.weight.t() * multiplier).contiguous()
            bias = self.gemm.bias * multiplier
        self.register_buffer("packed_weight", packed, persistent=False)
        self.register_buffer("packed_bias", bias, persistent=False)

    def forward(self, x):
        m, k = x.shape
        n = self.packed_weight.shape[1]
        y = torch.empty((m, n), device=x.device, dtype=x.dtype)
        gemm_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
            x, self.packed_weight, self.packed_bias, y, m, n, k, self.slope, BM=64, BN=64, BK=32
        )
        return y
