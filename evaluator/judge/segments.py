"""Memory that the judge owns and a runner maps: shared memory on the CPU, one whole device allocation on a GPU."""

import ctypes
import fcntl
import mmap
import os
from typing import Any, Protocol

import torch

from evaluator.errors import GraderFault
from evaluator.runner.attach import byte_tensor_at

# Of an allocation that is no multiple of this the driver makes small pages, whose translations a GPU runs short of.
PAGE_BYTES = 2 * 1024**2
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Segment(Protocol):
    """`bytes` is a 1-D uint8 tensor over the whole segment."""

    bytes: torch.Tensor

    def export(self) -> tuple[dict[str, Any], list[int]]:
        """What a runner needs to map it: a description and the descriptors that go with it."""

    def close(self) -> None:
        """Give the memory back; every view of it is invalid from here on."""


class ShmSegment:
    """Anonymous shared memory, sealed in size so that no runner can shrink it under the judge."""

    def __init__(self, size: int) -> None:
        self._fd = os.memfd_create("segment", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._fd, max(size, 1))
        fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _SEALS)
        self._mapping = mmap.mmap(self._fd, max(size, 1))
        self.bytes = torch.frombuffer(self._mapping, dtype=torch.uint8)

    def export(self) -> tuple[dict[str, Any], list[int]]:
        return {"kind": "shm", "size": self.bytes.numel()}, [self._fd]

    def close(self) -> None:
        # The mapping itself goes with the last tensor over it.
        os.close(self._fd)


class _IpcHandle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * 64),)


class CudaSegment:
    """A driver allocation of its own: an IPC handle maps a whole allocation, so nothing else may share it.

    It is rounded up to whole pages: of another size it is slower than torch's own (`benchmarks.segment_memory`).
    """

    def __init__(self, size: int, page_bytes: int = PAGE_BYTES) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._pointer = ctypes.c_uint64()
        torch.cuda.current_stream().synchronize()
        room = ctypes.c_size_t(-(-max(size, 1) // page_bytes) * page_bytes)
        if self._driver.cuMemAlloc_v2(ctypes.byref(self._pointer), room) != 0:
            torch.cuda.empty_cache()  # what torch keeps for later may be all that is missing
            self._check("cuMemAlloc_v2", ctypes.byref(self._pointer), room)
        self.bytes = byte_tensor_at(self._pointer.value, max(size, 1))

    def export(self) -> tuple[dict[str, Any], list[int]]:
        torch.cuda.current_stream().synchronize()  # gives a thread that has not used the device yet its context
        handle = _IpcHandle()
        self._check("cuIpcGetMemHandle", ctypes.byref(handle), self._pointer)
        return {"kind": "ipc", "size": self.bytes.numel(), "handle": bytes(handle).hex()}, []

    def close(self) -> None:
        torch.cuda.synchronize()
        self._check("cuMemFree_v2", self._pointer)

    def _check(self, function: str, *arguments: Any) -> None:
        code = getattr(self._driver, function)(*arguments)
        if code != 0:
            raise GraderFault("device_memory", f"{function} failed with CUDA error {code}")
