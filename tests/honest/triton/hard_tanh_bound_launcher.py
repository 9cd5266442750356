# task: level1/32_HardTanh
# style: kernel[grid] bound to a name first, all arguments by keyword
import torch
import triton
import triton.language as tl


@triton.jit
def clamp_kernel(source, target, count, low, high, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    value = tl.load(source + offsets, mask=mask)
    tl.store(target + offsets, tl.minimum(tl.maximum(value, low), high), mask=mask)


def clamp(x, low, high):
    y = torch.empty_like(x)
    launch = clamp_kernel[(triton.cdiv(x.numel(), 1024),)]
    launch(source=x, target=y, count=x.numel(), low=low, high=high, BLOCK=1024)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return clamp(x, -1.0, 1.0)
