# task: level1/47_Sum_reduction_over_a_dimension
# style: one thread per output column, the loader imported under another name
import torch
import torch.utils.cpp_extension as extensions

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>
__global__ void sum_rows(const float* x, float* y, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    const float* in = x + (size_t)blockIdx.y * rows * columns + j;
    float total = 0.f;
    for (int i = 0; i < rows; ++i) total += in[(size_t)i * columns];
    y[(size_t)blockIdx.y * columns + j] = total;
}
torch::Tensor sum_dim1(torch::Tensor x) {
    auto y = torch::empty({x.size(0), 1, x.size(2)}, x.options());
    sum_rows<<<dim3((x.size(2) + 127) / 128, x.size(0)), 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.size(2));
    return y;
}
"""

build = dict(cpp_sources="torch::Tensor sum_dim1(torch::Tensor x);", cuda_sources=CUDA, functions=["sum_dim1"])
ext = extensions.load_inline("sum_column_threads", **build)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.sum_dim1(x)
