# task: level1/38_L1Norm_
# style: kernel defined inside a factory and kept on self
import torch
import triton
import triton.language as tl


def make_kernel():
    @triton.jit
    def l1_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0)
        mean = tl.sum(tl.abs(x), axis=0) / columns
        tl.store(y_ptr + row * columns + offsets, x / mean, mask=mask)

    return l1_kernel


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = make_kernel()

    def forward(self, x):
        y = torch.empty_like(x)
        self.kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8)
        return y
