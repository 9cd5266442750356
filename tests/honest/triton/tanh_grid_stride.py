# task: level1/22_Tanh
# style: persistent programs that stride over the data; as many as the device has multiprocessors
import torch
import triton
import triton.language as tl


def program_count():
    if torch.cuda.is_available():
        return 8 * torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
    return 8


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    step = tl.num_programs(0) * BLOCK
    for base in range(start, n, step):
        offsets = base + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        decay = tl.exp(-2.0 * tl.abs(x))
        y = (1.0 - decay) / (1.0 + decay)
        tl.store(y_ptr + offsets, tl.where(x < 0, -y, y), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.programs = program_count()

    def forward(self, x):
        y = torch.empty_like(x)
        tanh_kernel[(self.programs,)](x, y, x.numel(), BLOCK=1024)
        return y
