# task: level2/76_Gemm_Add_ReLU
# style: fused epilogue, transposed weight read through the read-only cache
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor gemm_bias_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b);"
CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>
constexpr int T = 16, R = 4;  // each thread computes R x R results

__global__ void kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                       float* __restrict__ y, int m, int n, int k) {
    __shared__ float xs[T][T * R + 1], ws[T][T * R + 1];
    const int i0 = blockIdx.y * T * R, j0 = blockIdx.x * T * R, lane = threadIdx.y * T + threadIdx.x;
    float sum[R][R] = {};
    for (int p0 = 0; p0 < k; p0 += T) {
        for (int t = lane; t < T * T * R; t += T * T) {
            const int r = t / T, p = t % T;
            xs[p][r] = i0 + r < m && p0 + p < k ? __ldg(x + (size_t)(i0 + r) * k + p0 + p) : 0.f;
            ws[p][r] = j0 + r < n && p0 + p < k ? __ldg(w + (size_t)(j0 + r) * k + p0 + p) : 0.f;
        }
        __syncthreads();
        for (int p = 0; p < T; ++p)
            for (int i = 0; i < R; ++i)
                for (int j = 0; j < R; ++j) sum[i][j] += xs[p][threadIdx.y * R + i] * ws[p][threadIdx.x * R + j];
        __syncthreads();
    }
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < R; ++j) {
            const int row = i0 + threadIdx.y * R + i, column = j0 + threadIdx.x * R + j;
            if (row < m && column < n) y[(size_t)row * n + column] = fmaxf(sum[i][j] + b[column], 0.f);
        }
}

torch::Tensor gemm_bias_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    const int m = x.size(0), k = x.size(1), n = w.size(0), tile = T * R;
    auto y = torch::empty({m, n}, x.options());
    kernel<<<dim3((n + tile - 1) / tile, (m + tile - 1) / tile), dim3(T, T), 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), m, n, k);
    return y;
}
"""

ext = load_inline(name="gemm_bias_relu", cpp_sources=CPP, cuda_sources=CUDA, functions=["gemm_bias_relu"])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        return ext.gemm_bias_relu(x, self.gemm.weight, self.bias)
