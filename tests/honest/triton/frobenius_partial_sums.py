# task: level1/37_FrobeniusNorm_
# style: per-program partial sums in scratch, which every program of the second kernel adds up
import torch
import triton
import triton.language as tl


@triton.jit
def squares_kernel(x_ptr, partial_ptr, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, PROGRAMS * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        total += x * x
    tl.store(partial_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def divide_kernel(x_ptr, y_ptr, partial_ptr, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    norm = tl.sqrt(tl.sum(tl.load(partial_ptr + tl.arange(0, PROGRAMS)), axis=0))
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) / norm, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x.numel()
        programs = 1024 if n > 1 << 20 else 8
        partial = torch.empty(programs, device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        squares_kernel[(programs,)](x, partial, n, PROGRAMS=programs, BLOCK=1024)
        divide_kernel[(triton.cdiv(n, 1024),)](x, y, partial, n, PROGRAMS=programs, BLOCK=1024)
        return y
