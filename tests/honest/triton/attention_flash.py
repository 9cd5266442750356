# task: level1/97_ScaledDotProductAttention
# style: flash attention: online softmax over key tiles with two dots per step
import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, y_ptr, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * length * D
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + i[:, None] * D + d[None, :], mask=i[:, None] < length, other=0.0)
    highest = tl.full((BM,), -float("inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        j = start + tl.arange(0, BN)
        k = tl.load(k_ptr + base + j[None, :] * D + d[:, None], mask=j[None, :] < length, other=0.0)
        v = tl.load(v_ptr + base + j[:, None] * D + d[None, :], mask=j[:, None] < length, other=0.0)
        score = tl.where(j[None, :] < length, tl.dot(q, k) * scale, -float("inf"))
        higher = tl.maximum(highest, tl.max(score, axis=1))
        weight = tl.exp(score - higher[:, None])
        shrink = tl.exp(highest - higher)
        norm = norm * shrink + tl.sum(weight, axis=1)
        total = total * shrink[:, None] + tl.dot(weight, v)
        highest = higher
    tl.store(y_ptr + base + i[:, None] * D + d[None, :], total / norm[:, None], mask=i[:, None] < length)


class ModelNew(torch.nn.Module):
    def forward(self, Q, K, V):
        batch, heads, length, dim = Q.shape
        Y = torch.empty_like(Q)
        attention_kernel[(triton.cdiv(length, 64), batch * heads)](
            Q, K, V, Y, length, dim**-0.5, D=dim, BM=64, BN=32, num_warps=4
        )
        return Y
