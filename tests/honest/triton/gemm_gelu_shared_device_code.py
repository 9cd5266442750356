# task: level2/86_Matmul_Divide_GELU
# style: epilogue chosen by a string constexpr, explicit input precision for tl.dot
import torch
import triton
import triton.language as tl


@triton.jit
def epilogue(value, divisor, KIND: tl.constexpr):
    value = value / divisor
    if KIND == "gelu":
        return 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
    else:
        return value


@triton.jit
def gemm_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, m, n, k, divisor,
    KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        x = tl.load(x_ptr + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0)
        w = tl.load(w_ptr + j[None, :] * k + p[:, None], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0)
        total += tl.dot(x, w, input_precision="tf32x3")
    total += tl.load(b_ptr + j, mask=j < n, other=0.0)[None, :]
    y = epilogue(total, divisor, KIND)
    tl.store(y_ptr + i[:, None] * n + j[None, :], y, mask=(i[:, None] < m) & (j[None, :] < n))


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features, divisor):
        super().__init__()
        self.linear = torch.nn.Linear(in_features, out_features)
        self.divisor = divisor

    def forward(self, x):
        (m, k), n = x.shape, self.linear.out_features
        y = torch.empty((m, n), device=x.device, dtype=x.dtype)
        gemm_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
            x, self.linear.weight, self.linear.bias, y, m, n, k, self.divisor, KIND="gelu", BM=64, BN=64, BK=32
        )
        return y
