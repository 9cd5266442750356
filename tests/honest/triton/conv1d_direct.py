# task: level1/67_conv_standard_1D
# style: direct convolution with scalar weights, weight given under a Parameter of its own module
import torch
import triton
import triton.language as tl


class Weights(torch.nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(shape))


@triton.jit
def conv1d_kernel(x_ptr, w_ptr, y_ptr, channels, length, filters, out_length, K: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    image, filter_ = plane // filters, plane % filters
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for channel in range(channels):
        for k in tl.static_range(K):
            w = tl.load(w_ptr + (filter_ * channels + channel) * K + k)
            x = tl.load(x_ptr + (image * channels + channel) * length + at + k, mask=at + k < length, other=0.0)
            total += w * x
    tl.store(y_ptr + plane * out_length + at, total, mask=at < out_length)


class ModelNew(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv1d = Weights(out_channels, in_channels, kernel_size)

    def forward(self, x):
        weight = self.conv1d.weight
        batch, channels, length = x.shape
        filters, _, k = weight.shape
        y = torch.empty((batch, filters, length - k + 1), device=x.device, dtype=x.dtype)
        grid = (batch * filters, triton.cdiv(length - k + 1, 1024))
        conv1d_kernel[grid](x, weight, y, channels, length, filters, length - k + 1, K=k, BLOCK=1024)
        return y
