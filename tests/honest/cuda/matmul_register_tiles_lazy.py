# task: level1/2_Standard_matrix_multiplication_
# style: template parameters for the tiles, built on first use behind functools.lru_cache
import functools

import torch
from torch.utils import cpp_extension

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>

template <int BM, int BN, int BK, int TM, int TN>
__global__ void gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int m, int n, int k) {
    __shared__ float a[BK][BM], b[BK][BN];
    constexpr int THREADS = (BM / TM) * (BN / TN);
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int tr = threadIdx.x / (BN / TN) * TM, tc = threadIdx.x % (BN / TN) * TN;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int t = threadIdx.x; t < BM * BK; t += THREADS) {
            int r = t / BK, p = t % BK;
            a[p][r] = row0 + r < m && k0 + p < k ? A[(size_t)(row0 + r) * k + k0 + p] : 0.f;
        }
        for (int t = threadIdx.x; t < BK * BN; t += THREADS) {
            int p = t / BN, c = t % BN;
            b[p][c] = k0 + p < k && column0 + c < n ? B[(size_t)(k0 + p) * n + column0 + c] : 0.f;
        }
        __syncthreads();
        for (int p = 0; p < BK; ++p)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a[p][tr + i] * b[p][tc + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (row0 + tr + i < m && column0 + tc + j < n) C[(size_t)(row0 + tr + i) * n + column0 + tc + j] = sum[i][j];
}

torch::Tensor gemm_64(torch::Tensor A, torch::Tensor B) {
    int m = A.size(0), k = A.size(1), n = B.size(1);
    auto C = torch::empty({m, n}, A.options());
    gemm<64, 64, 16, 4, 4><<<dim3((n + 63) / 64, (m + 63) / 64), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), m, n, k);
    return C;
}
"""


@functools.lru_cache(maxsize=1)
def extension():
    return cpp_extension.load_inline(
        name="matmul_register_tiles",
        cpp_sources="torch::Tensor gemm_64(torch::Tensor A, torch::Tensor B);",
        cuda_sources=CUDA,
        functions=["gemm_64"],
        extra_cuda_cflags=["-O3"],
    )


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.multiply = extension().gemm_64

    def forward(self, A, B):
        return self.multiply(A, B)
