import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, sums, squares, n, parts, BLOCK: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    span = tl.cdiv(n, parts)
    total = tl.zeros((BLOCK,), tl.float32)
    total_of_squares = tl.zeros((BLOCK,), tl.float32)
    end = tl.minimum((part + 1) * span, n)
    for start in range(part * span, end, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + offsets, mask=offsets < end, other=0.0)
        total += value
        total_of_squares += value * value
    tl.store(sums + row * parts + part, tl.sum(total, axis=0))
    tl.store(squares + row * parts + part, tl.sum(total_of_squares, axis=0))


@triton.jit
def normalise(x, y, weight, bias, sums, squares, n, eps, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, PARTS)
    mean = tl.sum(tl.load(sums + row * PARTS + parts), axis=0) / n
    variance = tl.sum(tl.load(squares + row * PARTS + parts), axis=0) / n - mean * mean
    scale = 1.0 / tl.sqrt(variance + eps)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + row * n + offsets, mask=mask)
    w = tl.load(weight + offsets, mask=mask)
    b = tl.load(bias + offsets, mask=mask)
    tl.store(y + row * n + offsets, (value - mean) * scale * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        n = self.ln.weight.numel()
        rows = x.numel() // n
        parts = 64
        y = torch.empty_like(x)
        sums = torch.empty((rows, parts), device=x.device, dtype=torch.float32)
        squares = torch.empty_like(sums)
        block = 4096
        partial_sums[(rows, parts)](x, sums, squares, n, parts, BLOCK=block)
        grid = (rows, triton.cdiv(n, block))
        normalise[grid](x, y, self.ln.weight, self.ln.bias, sums, squares, n, self.ln.eps, PARTS=parts, BLOCK=block)
        return y
