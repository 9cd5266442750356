"""Maps the judge's segments into this process as flat byte tensors."""

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.tensorspec import TensorSpec


@dataclass
class Segment:
    """A mapped segment: `bytes` is a 1-D uint8 tensor over all of it, `base` its address in this process."""

    bytes: torch.Tensor
    base: int
    keep: Any

    @property
    def size(self) -> int:
        return self.bytes.numel()

    def offset_of(self, tensor: torch.Tensor) -> int | None:
        """The byte offset of a tensor's first element, or None where the tensor starts outside this segment."""
        offset = tensor.data_ptr() - self.base
        return offset if 0 <= offset < self.size or (offset == self.size == 0) else None

    def view(self, spec: TensorSpec) -> torch.Tensor:
        """The tensor that `spec` describes, without a copy."""
        dtype = getattr(torch, spec.dtype)
        flat = self.bytes[spec.offset : spec.offset + spec.extent_bytes].view(dtype)
        return flat.as_strided(spec.shape, spec.stride)


class _CudaArray:
    """The array interface through which torch takes over a raw device pointer."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
            "strides": None,
        }


def byte_tensor_at(pointer: int, size: int) -> torch.Tensor:
    """A uint8 tensor over `size` bytes of device memory; the memory stays its owner's."""
    return torch.as_tensor(_CudaArray(pointer, size), device="cuda")


def attach(description: dict[str, Any], fd: int | None) -> Segment:
    """Map one segment as its `export` described it: shared memory by descriptor, device memory by IPC handle."""
    size = int(description["size"])
    if description["kind"] == "shm":
        if fd is None:
            raise ValueError("shared memory comes with a descriptor")
        mapping = mmap.mmap(fd, size)
        tensor = torch.frombuffer(mapping, dtype=torch.uint8)
        return Segment(tensor, tensor.data_ptr(), mapping)
    pointer = open_ipc(bytes.fromhex(description["handle"]))
    return Segment(byte_tensor_at(pointer, size), pointer, None)


def open_ipc(handle: bytes) -> int:
    """Map another process's device allocation by its 64-byte CUDA IPC handle. Raises OSError by the driver's code."""

    class Handle(ctypes.Structure):
        _fields_ = (("reserved", ctypes.c_char * 64),)

    driver = ctypes.CDLL("libcuda.so.1")
    torch.cuda.current_stream().synchronize()
    pointer = ctypes.c_uint64()
    raw = Handle.from_buffer_copy(handle)
    lazy_peer_access = 1
    code = driver.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), raw, ctypes.c_uint(lazy_peer_access))
    if code != 0:
        raise OSError(f"cuIpcOpenMemHandle failed with code {code}")
    return pointer.value
