# task: level1/26_GELU_
# style: __launch_bounds__, macros, cudaLaunchKernel instead of the chevrons
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#define KERNEL __global__ void __launch_bounds__(256, 4)
#define M_SQRT1_2F 0.70710678118654752f

KERNEL gelu_kernel(const float* x, float* y, long n) {
    long i = (long)blockIdx.x * 256 + threadIdx.x;
    if (i < n) { float v = x[i]; y[i] = 0.5f * v * (1.0f + erff(v * M_SQRT1_2F)); }
}

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    long n = x.numel();
    void* arguments[] = {&in, &out, &n};
    C10_CUDA_CHECK(cudaLaunchKernel((const void*)gelu_kernel, dim3((n + 255) / 256), dim3(256), arguments, 0,
                                    c10::cuda::getCurrentCUDAStream().stream()));
    return y;
}
"""

ext = load_inline(
    name="gelu_launch_bounds",
    cpp_sources="torch::Tensor gelu(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["gelu"],
    with_cuda=True,
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.gelu(x)
