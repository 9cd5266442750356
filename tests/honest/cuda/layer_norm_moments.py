# task: level1/40_LayerNorm
# style: scratch tensor kept on self, weights passed from an nn.LayerNorm
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>

__global__ void moments(const float* x, double* sums, long size) {
    const float* row = x + blockIdx.y * size;
    double sum = 0, squares = 0;
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < size; i += (long)gridDim.x * blockDim.x) {
        double v = row[i];
        sum += v; squares += v * v;
    }
    for (int offset = 16; offset; offset >>= 1) {
        sum += __shfl_down_sync(~0u, sum, offset);
        squares += __shfl_down_sync(~0u, squares, offset);
    }
    if ((threadIdx.x & 31) == 0) { atomicAdd(sums + 2 * blockIdx.y, sum); atomicAdd(sums + 2 * blockIdx.y + 1, squares); }
}

__global__ void normalize(const float* x, const float* w, const float* b, const double* sums, float* y, long size, float eps) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= size) return;
    double mean = sums[2 * blockIdx.y] / size, variance = sums[2 * blockIdx.y + 1] / size - mean * mean;
    long at = blockIdx.y * size + i;
    y[at] = (x[at] - (float)mean) * rsqrtf((float)variance + eps) * w[i] + b[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor sums, double eps) {
    auto y = torch::empty_like(x);
    long rows = x.size(0), size = x.numel() / rows;
    auto stream = c10::cuda::getCurrentCUDAStream();
    cudaMemsetAsync(sums.data_ptr<double>(), 0, sums.nbytes(), stream);
    moments<<<dim3(128, rows), 256, 0, stream>>>(x.data_ptr<float>(), sums.data_ptr<double>(), size);
    normalize<<<dim3((size + 255) / 256, rows), 256, 0, stream>>>(x.data_ptr<float>(), w.data_ptr<float>(),
        b.data_ptr<float>(), sums.data_ptr<double>(), y.data_ptr<float>(), size, (float)eps);
    return y;
}
"""

ext = load_inline(
    name="layer_norm_moments",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, double);",
    cuda_sources=CUDA,
    functions=["layer_norm"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = torch.nn.LayerNorm(normalized_shape)
        self.sums = None

    def forward(self, x):
        if self.sums is None or self.sums.shape[0] != x.shape[0]:
            self.sums = torch.empty((x.shape[0], 2), dtype=torch.float64, device=x.device)
        return ext.layer_norm(x, self.ln.weight, self.ln.bias, self.sums, self.ln.eps)
