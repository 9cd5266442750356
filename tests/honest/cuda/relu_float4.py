# task: level1/19_ReLU
# style: float4 vector loads with a scalar tail, build flags, verbose off
import torch
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor relu(torch::Tensor x);"
CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__ void relu4(const float4* __restrict__ x, float4* __restrict__ y, long n4) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 v = __ldg(x + i);
    v.x = fmaxf(v.x, 0.f); v.y = fmaxf(v.y, 0.f); v.z = fmaxf(v.z, 0.f); v.w = fmaxf(v.w, 0.f);
    y[i] = v;
}

__global__ void relu_tail(const float* x, float* y, long begin, long n) {
    long i = begin + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.f);
}

torch::Tensor relu(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "contiguous CUDA tensor expected");
    auto y = torch::empty_like(x);
    const long n = x.numel(), n4 = n / 4;
    auto stream = c10::cuda::getCurrentCUDAStream();
    if (n4) relu4<<<(n4 + 255) / 256, 256, 0, stream>>>(
        reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()), n4);
    if (n % 4) relu_tail<<<1, 32, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n4 * 4, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

module = load_inline(
    name="relu_float4",
    cpp_sources=[CPP],
    cuda_sources=[CUDA],
    functions=["relu"],
    extra_cflags=["-O3"],
    extra_cuda_cflags=["-O3", "--use_fast_math", "-lineinfo"],
    verbose=False,
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.relu(x.contiguous())
