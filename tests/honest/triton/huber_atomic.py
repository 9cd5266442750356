# task: level1/96_HuberLoss
# style: scalar output by atomics on a zero-filled tensor, in double for the sum
import torch
import triton
import triton.language as tl


@triton.jit
def huber_kernel(a_ptr, b_ptr, out_ptr, n, inverse, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, PROGRAMS * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + offsets, mask=offsets < n, other=0.0)
        b = tl.load(b_ptr + offsets, mask=offsets < n, other=0.0)
        gap = tl.abs(a - b)
        total += tl.where(gap < 1.0, 0.5 * gap * gap, gap - 0.5)
    tl.atomic_add(out_ptr, tl.sum(total, axis=0) * inverse)


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        n = predictions.numel()
        out = torch.zeros((), device=predictions.device, dtype=predictions.dtype)
        programs = 512 if n > 1 << 20 else 4
        huber_kernel[(programs,)](predictions, targets, out, n, 1.0 / n, PROGRAMS=programs, BLOCK=1024)
        return out
