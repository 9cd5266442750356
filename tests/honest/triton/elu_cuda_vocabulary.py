# task: level1/31_ELU
# style: names from CUDA (thread_block, stream_k, warp) and a settings table looked up per size
import torch
import triton
import triton.language as tl

thread_block = {"small": 512, "large": 2048}
stream_k = 1
WARPS = {512: 2, 2048: 8}


@triton.jit
def elu_kernel(x_ptr, y_ptr, n, alpha, THREAD_BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * THREAD_BLOCK + tl.arange(0, THREAD_BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, tl.where(x > 0, x, alpha * (tl.exp(tl.minimum(x, 0.0)) - 1.0)), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, alpha=1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        n = x.numel() * stream_k
        width = thread_block["large" if n > 1 << 20 else "small"]
        y = torch.empty_like(x)
        elu_kernel[((n + width - 1) // width, 1, 1)](x, y, n, self.alpha, THREAD_BLOCK=width, num_warps=WARPS[width])
        return y
