# task: level1/26_GELU_
# style: tl.erf, several loads in flight through a two-dimensional tile
import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    offsets = tl.program_id(0) * ROWS * COLUMNS + tile
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476)), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gelu_kernel[(triton.cdiv(x.numel(), 4 * 256),)](x, y, x.numel(), ROWS=4, COLUMNS=256)
        return y
