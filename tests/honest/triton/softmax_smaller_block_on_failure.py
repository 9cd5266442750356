# task: level1/23_Softmax
# style: a handler that launches the kernel again with another configuration, never PyTorch
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * columns + offsets, x / tl.sum(x, axis=0), mask=offsets < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        block = triton.next_power_of_2(x.shape[1])
        try:
            softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=block, num_warps=16)
        except triton.runtime.errors.OutOfResources as error:
            print("again with fewer warps:", error)
            softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=block, num_warps=4)
        return y
