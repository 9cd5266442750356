# task: level1/19_ReLU
# language: triton
# device: gpu
# tries: write far outside of any allocation of the device
# static: evades
# verdicts: runtime_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y + offsets, tl.maximum(tl.load(x + offsets, mask=mask), 0.0), mask=mask)


def relu(x):
    y = torch.empty_like(x)
    n = x.numel()
    relu_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)
    return y


@triton.jit
def wild_kernel(y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK).to(tl.int64)
    tl.store(y + offsets + (1 << 44), tl.zeros((BLOCK,), tl.float32))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        wild_kernel[(1,)](y, BLOCK=16)
        torch.cuda.synchronize()
        return y
