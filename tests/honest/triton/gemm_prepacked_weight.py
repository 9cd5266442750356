# task: level2/9_Matmul_Subtract_Multiply_ReLU
# style: the weight transposed once and kept; packed again when the parameter was changed in place
import torch
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, m, n, k, subtract, multiply, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        x = tl.load(x_ptr + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0)
        w = tl.load(w_ptr + p[:, None] * n + j[None, :], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(x, w, total)
    total += tl.load(b_ptr + j, mask=j < n, other=0.0)[None, :]
    total = tl.maximum((total - subtract) * multiply, 0.0)
    tl.store(y_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features, subtract, multiply):
        super().__init__()
        self.linear = torch.nn.Linear(in_features, out_features)
        self.subtract, self.multiply = subtract, multiply
        self.packed, self.packed_from = None, None

    def packed_weight(self):
        weight = self.linear.weight
        stamp = (weight.data_ptr(), weight._version, weight.device)
        if self.packed_from != stamp:
            self.packed, self.packed_from = weight.detach().t().contiguous(), stamp
        return self.packed

    def forward(self, x):
        w = self.packed_weight()
        (m, k), n = x.shape, w.shape[1]
        y = torch.empty((m, n), device=x.device, dtype=x.dtype)
        gemm_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
            x, w, self.linear.bias, y, m, n, k, self.subtract, self.multiply, BM=64, BN=64, BK=32
        )
        return y
