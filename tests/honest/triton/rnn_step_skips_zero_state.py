# task: level3/33_VanillaRNN
# style: algebra: the zero half of the concatenated input is never read; strided weight access
import torch
import triton
import triton.language as tl


@triton.jit
def dense_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, m, n, k, w_stride, TANH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        x = tl.load(x_ptr + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0)
        w = tl.load(w_ptr + j[None, :] * w_stride + p[:, None], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0)
        total += tl.dot(x, w)
    total += tl.load(b_ptr + j, mask=j < n, other=0.0)[None, :]
    if TANH:
        total = 2.0 * tl.sigmoid(2.0 * total) - 1.0
    tl.store(y_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


def dense(x, linear, k, squash):
    m, n = x.shape[0], linear.out_features
    y = x.new_empty((m, n))
    dense_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
        x, linear.weight, linear.bias, y, m, n, k, linear.weight.stride(0), TANH=squash, BM=64, BN=64, BK=32
    )
    return y


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        self.i2h = torch.nn.Linear(in_features + hidden, hidden)
        self.h2o = torch.nn.Linear(hidden, out_features)

    def forward(self, x):
        state = dense(x, self.i2h, x.shape[1], squash=True)
        return dense(state, self.h2o, state.shape[1], squash=False)
