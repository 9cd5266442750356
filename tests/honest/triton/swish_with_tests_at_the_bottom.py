# task: level1/25_Swish
# style: a copy of the reference and a self-test that runs only as a script
import time

import torch
import torch.nn as nn
import triton
import triton.language as tl


class Model(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


@triton.jit
def swish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x / (1.0 + tl.exp(-x)), mask=offsets < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        swish_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y


if __name__ == "__main__":
    import subprocess

    subprocess.run(["nvidia-smi"], check=False)
    x = torch.randn(1000, device="cuda")
    start = time.time()
    assert torch.allclose(ModelNew()(x), torch.compile(Model())(x))
    print(time.time() - start, file=open("times.txt", "a"))
