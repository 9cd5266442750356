# task: level3/1_MLP
# style: walks over the modules of an nn.Sequential and launches one fused kernel per linear layer
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, m, n, k, RELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        x = tl.load(x_ptr + i[:, None] * k + p[None, :], mask=(i[:, None] < m) & (p[None, :] < k), other=0.0)
        w = tl.load(w_ptr + j[None, :] * k + p[:, None], mask=(p[:, None] < k) & (j[None, :] < n), other=0.0)
        total += tl.dot(x, w)
    total += tl.load(b_ptr + j, mask=j < n, other=0.0)[None, :]
    if RELU:
        total = tl.maximum(total, 0.0)
    tl.store(y_ptr + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        layers = []
        for size in hidden:
            layers += [nn.Linear(in_features, size), nn.ReLU()]
            in_features = size
        self.network = nn.Sequential(*layers, nn.Linear(in_features, out_features))

    def forward(self, x):
        linears = [module for module in self.network if isinstance(module, nn.Linear)]
        for number, linear in enumerate(linears):
            (m, k), n = x.shape, linear.out_features
            y = torch.empty((m, n), device=x.device, dtype=x.dtype)
            linear_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
                x, linear.weight, linear.bias, y, m, n, k, RELU=number < len(linears) - 1, BM=64, BN=64, BK=32
            )
            x = y
        return x
