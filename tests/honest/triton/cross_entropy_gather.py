# task: level1/95_CrossEntropyLoss
# style: integer targets, a scalar load by computed index, mean by a second kernel
import torch
import triton
import triton.language as tl


@triton.jit
def loss_kernel(x_ptr, target_ptr, loss_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * classes + offsets, mask=offsets < classes, other=-float("inf"))
    peak = tl.max(x, axis=0)
    norm = peak + tl.log(tl.sum(tl.exp(x - peak), axis=0))
    chosen = tl.load(x_ptr + row * classes + tl.load(target_ptr + row))
    tl.store(loss_ptr + row, norm - chosen)


@triton.jit
def mean_kernel(loss_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, rows, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(loss_ptr + offsets, mask=offsets < rows, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0) / rows)


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        rows, classes = predictions.shape
        losses = torch.empty(rows, device=predictions.device)
        out = torch.empty((), device=predictions.device)
        loss_kernel[(rows,)](predictions, targets, losses, classes, BLOCK=triton.next_power_of_2(classes), num_warps=8)
        mean_kernel[(1,)](losses, out, rows, BLOCK=1024)
        return out
