# task: level1/88_MinGPTNewGelu
# style: functions given as a dict with doc strings, words like exec and open in comments of the C++ source
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>
/* exec(), open(), subprocess, torch.compile, at::gelu: none of them is here. */
__global__ void newgelu(const float* __restrict__ x, float* __restrict__ y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;  // nothing to do
    const float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    newgelu<<<(x.numel() + 511) / 512, 512, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

ext = load_inline(
    name="newgelu_named_functions",
    cpp_sources="torch::Tensor forward(torch::Tensor x);",
    cuda_sources=CUDA,
    functions={"forward": "GELU in its tanh form"},
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.forward(x)
