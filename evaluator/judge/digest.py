"""Position-dependent 64-bit checksums of device memory in one pass, to tell whether bytes changed."""

import math
import secrets
from collections import defaultdict
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

_BLOCK = 4096
_WIDE_BYTES = 16  # what a thread reads at once, where addresses allow it


@triton.jit(do_not_specialize=["count", "blocks", "key", "start", "stride", "programs"])
def _digest_kernel(  # type: ignore[no-untyped-def]
    addresses, partial, count, blocks, key, start, stride, programs, ALIGN: tl.constexpr, BLOCK: tl.constexpr
):
    # Two rounds of a 32-bit multiply-xor mixer over (word, position, key), added up in 64 bits: the sum does not
    # depend on the order in which blocks run, and the key is not known before the bytes are.
    # Blocks are read in an order that nobody can foresee: what is still being written cannot keep ahead of it.
    place = (tl.program_id(0).to(tl.int64) * stride + start) % programs
    data = tl.load(addresses + place // blocks).to(tl.pointer_type(tl.int32))
    data = tl.multiple_of(data, ALIGN)
    offsets = (place % blocks) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(data + offsets, mask=offsets < count, other=0).to(tl.uint32)
    low = (offsets & 0xFFFFFFFF).to(tl.uint32)
    high = (offsets >> 32).to(tl.uint32)
    mixed = word ^ ((low ^ key.to(tl.uint32)) * 0x9E3779B1) ^ (high * 0x85EBCA77)
    mixed = (mixed ^ (mixed >> 15)) * 0x2C1B3C6D
    mixed = (mixed ^ (mixed >> 12)) * 0x297A2D39
    mixed = mixed ^ (mixed >> 15)
    tl.store(partial + place, tl.sum(mixed.to(tl.int64), axis=0))


def cuda_digests(regions: Sequence[torch.Tensor], key: int) -> list[bytes]:
    """Digests of contiguous 1-D uint8 CUDA tensors, by one launch for all of a size; `key` makes them unpredictable."""
    of_size: dict[int, list[int]] = defaultdict(list)
    for number, region in enumerate(regions):
        of_size[region.numel()].append(number)
    found: dict[int, bytes] = {}
    for numbers in of_size.values():
        found.update(zip(numbers, _of_one_size([regions[number] for number in numbers], key), strict=True))
    return [found[number] for number in range(len(regions))]


def _of_one_size(regions: list[torch.Tensor], key: int) -> list[bytes]:
    regions = [region if region.data_ptr() % 4 == 0 else region.clone() for region in regions]
    size, device = regions[0].numel(), regions[0].device
    blocks = triton.cdiv(max(size // 4, 1), _BLOCK)
    programs = blocks * len(regions)
    addresses = torch.tensor([region.data_ptr() for region in regions], device=device)
    wide = all(region.data_ptr() % _WIDE_BYTES == 0 for region in regions)
    partial = torch.empty((len(regions), blocks), dtype=torch.int64, device=device)
    start, stride = secrets.randbelow(programs), _stride(programs)
    order = (key & 0x7FFFFFFF, start, stride, programs)
    _digest_kernel[(programs,)](
        addresses, partial, size // 4, blocks, *order, ALIGN=_WIDE_BYTES if wide else 4, BLOCK=_BLOCK
    )
    sums = [(total & (2**64 - 1)).to_bytes(8, "big") for total in partial.sum(1).tolist()]
    rest = size % 4
    return [total + bytes(region[size - rest :].tolist()) for total, region in zip(sums, regions, strict=True)]


def _stride(blocks: int) -> int:
    """A random step by which every one of `blocks` is met once."""
    while True:
        stride = 1 + secrets.randbelow(blocks)
        if math.gcd(stride, blocks) == 1:
            return stride
