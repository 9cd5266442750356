# task: level1/28_HardSigmoid
# style: two-dimensional grid over rows and column tiles, strides passed in
import torch
import triton
import triton.language as tl


@triton.jit
def hard_sigmoid_kernel(x_ptr, y_ptr, x_stride, y_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * x_stride + offsets, mask=mask)
    y = tl.minimum(tl.maximum(x / 6.0 + 0.5, 0.0), 1.0)
    tl.store(y_ptr + row * y_stride + offsets, y, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.shape[1], 1024), x.shape[0])
        hard_sigmoid_kernel[grid](x, y, x.stride(0), y.stride(0), x.shape[1], BLOCK=1024)
        return y
