# task: level1/12_Matmul_with_diagonal_matrices_
# style: PYBIND11_MODULE written out instead of the functions argument
import torch
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
torch::Tensor scale_rows(torch::Tensor a, torch::Tensor b);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("scale_rows", &scale_rows, "diag(a) @ b");
}
"""
CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>
__global__ void scale_rows_kernel(const float* a, const float* b, float* c, int columns) {
    int row = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < columns) c[(size_t)row * columns + j] = a[row] * b[(size_t)row * columns + j];
}
torch::Tensor scale_rows(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(b);
    dim3 grid((b.size(1) + 255) / 256, b.size(0));
    scale_rows_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), b.size(1));
    return c;
}
"""

ext = load_inline(name="diagonal_own_bindings", cpp_sources=CPP, cuda_sources=CUDA)


class ModelNew(torch.nn.Module):
    def forward(self, A, B):
        return ext.scale_rows(A, B)
