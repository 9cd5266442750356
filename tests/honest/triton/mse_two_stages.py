# task: level1/94_MSELoss
# style: scalar output through a partial buffer; the finishing kernel runs one program
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(a_ptr, b_ptr, partial_ptr, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, PROGRAMS * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + offsets, mask=offsets < n, other=0.0)
        b = tl.load(b_ptr + offsets, mask=offsets < n, other=0.0)
        total += (a - b) * (a - b)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def finish_kernel(partial_ptr, out_ptr, n, PROGRAMS: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, PROGRAMS)), axis=0) / n)


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        n = predictions.numel()
        programs = 512 if n > 1 << 20 else 8
        partial = torch.empty(programs, device=predictions.device, dtype=torch.float32)
        out = torch.empty((), device=predictions.device, dtype=predictions.dtype)
        partial_kernel[(programs,)](predictions, targets, partial, n, PROGRAMS=programs, BLOCK=1024)
        finish_kernel[(1,)](partial, out, n, PROGRAMS=programs)
        return out
