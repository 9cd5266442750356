# task: level1/40_LayerNorm
# style: long rows: partial moments per chunk, combined per row by the second kernel
import torch
import triton
import triton.language as tl


@triton.jit
def moments_kernel(x_ptr, sum_ptr, square_ptr, size, chunks, CHUNK: tl.constexpr, BLOCK: tl.constexpr):
    row, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(chunk * CHUNK, chunk * CHUNK + CHUNK, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * size + offsets, mask=offsets < size, other=0.0)
        total += x
        squares += x * x
    tl.store(sum_ptr + row * chunks + chunk, tl.sum(total, axis=0))
    tl.store(square_ptr + row * chunks + chunk, tl.sum(squares, axis=0))


@triton.jit
def normalize_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, sum_ptr, square_ptr, size, chunks, eps, CHUNKS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, CHUNKS)
    total = tl.sum(tl.load(sum_ptr + row * chunks + part, mask=part < chunks, other=0.0), axis=0)
    squares = tl.sum(tl.load(square_ptr + row * chunks + part, mask=part < chunks, other=0.0), axis=0)
    mean = total / size
    inverse = tl.rsqrt(squares / size - mean * mean + eps)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    x = tl.load(x_ptr + row * size + offsets, mask=mask)
    y = (x - mean) * inverse * tl.load(w_ptr + offsets, mask=mask) + tl.load(b_ptr + offsets, mask=mask)
    tl.store(y_ptr + row * size + offsets, y, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = torch.nn.LayerNorm(normalized_shape)

    def forward(self, x):
        rows = x.shape[0]
        size = x.numel() // rows
        chunk = 16384 if size > 16384 else 512
        chunks = triton.cdiv(size, chunk)
        moments = torch.empty((2, rows, chunks), device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        moments_kernel[(rows, chunks)](x, moments[0], moments[1], size, chunks, CHUNK=chunk, BLOCK=512)
        normalize_kernel[(rows, triton.cdiv(size, 1024))](
            x, y, self.ln.weight, self.ln.bias, moments[0], moments[1], size, chunks, self.ln.eps,
            CHUNKS=triton.next_power_of_2(chunks), BLOCK=1024,
        )  # fmt: skip
        return y
