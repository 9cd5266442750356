"""A position-dependent 64-bit checksum of device memory in one pass, to tell whether bytes changed."""

import math
import secrets

import torch
import triton
import triton.language as tl

_BLOCK = 4096


@triton.jit(do_not_specialize=["key", "start", "stride", "blocks"])
def _digest_kernel(data, partial, count, key, start, stride, blocks, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    # Two rounds of a 32-bit multiply-xor mixer over (word, position, key), added up in 64 bits: the sum does not
    # depend on the order in which blocks run, and the key is not known before the bytes are.
    # Blocks are read in an order that nobody can foresee: what is still being written cannot keep ahead of it.
    block = (tl.program_id(0).to(tl.int64) * stride + start) % blocks
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(data + offsets, mask=offsets < count, other=0).to(tl.uint32)
    low = (offsets & 0xFFFFFFFF).to(tl.uint32)
    high = (offsets >> 32).to(tl.uint32)
    mixed = word ^ ((low ^ key.to(tl.uint32)) * 0x9E3779B1) ^ (high * 0x85EBCA77)
    mixed = (mixed ^ (mixed >> 15)) * 0x2C1B3C6D
    mixed = (mixed ^ (mixed >> 12)) * 0x297A2D39
    mixed = mixed ^ (mixed >> 15)
    tl.store(partial + tl.program_id(0), tl.sum(mixed.to(tl.int64), axis=0))


def cuda_digest(data: torch.Tensor, key: int) -> bytes:
    """Digest of a contiguous uint8 CUDA tensor; `key` makes it unpredictable."""
    whole = data.numel() // 4 * 4
    words = data[:whole].view(torch.int32)
    blocks = triton.cdiv(max(words.numel(), 1), _BLOCK)
    partial = torch.empty(blocks, dtype=torch.int64, device=data.device)
    stride = _stride(blocks)
    start = secrets.randbelow(blocks)
    _digest_kernel[(blocks,)](words, partial, words.numel(), key & 0x7FFFFFFF, start, stride, blocks, BLOCK=_BLOCK)
    tail = bytes(data[whole:].cpu().tolist())
    return (int(partial.sum().item()) & (2**64 - 1)).to_bytes(8, "big") + tail


def _stride(blocks: int) -> int:
    """A random step by which every one of `blocks` is met once."""
    while True:
        stride = 1 + secrets.randbelow(blocks)
        if math.gcd(stride, blocks) == 1:
            return stride
