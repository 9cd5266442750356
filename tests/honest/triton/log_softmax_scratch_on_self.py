# task: level1/24_LogSoftmax
# style: two kernels with a scratch buffer that is kept on self between calls
import torch
import triton
import triton.language as tl


@triton.jit
def log_norm_kernel(x_ptr, norm_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    highest = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
        higher = tl.maximum(highest, tl.max(x, axis=0))
        total = total * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher), axis=0)
        highest = higher
    tl.store(norm_ptr + row, highest + tl.log(total))


@triton.jit
def subtract_kernel(x_ptr, norm_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask)
    tl.store(y_ptr + row * columns + offsets, x - tl.load(norm_ptr + row), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = None

    def forward(self, x):
        rows, columns = x.shape
        if self.scratch is None or self.scratch.numel() != rows or self.scratch.device != x.device:
            self.scratch = torch.empty(rows, dtype=torch.float32, device=x.device)
        y = torch.empty_like(x)
        log_norm_kernel[(rows,)](x, self.scratch, columns, BLOCK=1024)
        subtract_kernel[(rows, triton.cdiv(columns, 1024))](x, self.scratch, y, columns, BLOCK=1024)
        return y
