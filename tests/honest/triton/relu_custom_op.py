# task: level1/19_ReLU
# style: the launch registered as a custom operator and called through torch.ops
import torch
import triton
import triton.language as tl


@triton.jit
def rectify_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, tl.maximum(x, 0.0), mask=offsets < n)


@torch.library.custom_op("honest_kernels::rectify", mutates_args=())
def rectify(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    rectify_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.ops.honest_kernels.rectify(x)
