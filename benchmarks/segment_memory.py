"""`python -m benchmarks.segment_memory`: how quick one kernel is in device memory of different kinds, on one GPU.

A runner works in memory that the judge owns. ReLU over the same bytes, after the same flush, is timed in memory of
torch's own, of `cuMemAlloc`, of `cuMemAlloc` mapped through CUDA IPC by another process, and of `cuMemCreate`, mapped
by its owner and by another process through a file descriptor; then in a little more than whole pages: of `cuMemAlloc`
("uneven"), mapped by another process, and as a judge's segment, which is rounded up. Ratios are against torch's own.
"""

import array
import ctypes
import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from benchmarks.bare_gpu import about, between_events_ms, evictor, options
from benchmarks.support import write_record
from evaluator.judge.segments import PAGE_BYTES, CudaSegment
from evaluator.runner.attach import byte_tensor_at, open_ipc

GIB = 1024**3
SIZES_BYTES = (GIB // 16, GIB // 2, int(1.5 * GIB), 6 * GIB)
CALLS = 30
KINDS = (
    "torch",
    "alloc",
    "alloc over ipc",
    "created",
    "created over fd",
    "uneven",
    "uneven over ipc",
    "segment over ipc",
)
UNEVEN_BYTES = 256
_POSIX_FD = 1
_PINNED = 1
_ON_DEVICE = 1
_READ_WRITE = 3


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp of cuda.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_handle", ctypes.c_void_p),
        ("compression", ctypes.c_ubyte),
        ("gpu_direct", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class Driver:
    """The driver's calls for memory that is created, passed on as a descriptor, and mapped."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._place = _Location(_ON_DEVICE, 0)

    def create(self, size: int) -> tuple[int, int]:
        """An allocation's handle and its size, rounded up to what the device deals in."""
        properties = _AllocationProperties(type=_PINNED, handle_types=_POSIX_FD, location=self._place)
        grain = ctypes.c_size_t()
        recommended = ctypes.c_int(1)
        self._call("cuMemGetAllocationGranularity", ctypes.byref(grain), ctypes.byref(properties), recommended)
        rounded = -(-size // grain.value) * grain.value
        handle = ctypes.c_uint64()
        flags = ctypes.c_uint64(0)
        self._call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(rounded), ctypes.byref(properties), flags)
        return handle.value, rounded

    def export(self, handle: int) -> int:
        """A file descriptor for an allocation."""
        fd = ctypes.c_int()
        self._call(
            "cuMemExportToShareableHandle", ctypes.byref(fd), ctypes.c_uint64(handle), _POSIX_FD, ctypes.c_uint64(0)
        )
        return fd.value

    def take(self, fd: int) -> int:
        """The allocation behind another process's file descriptor."""
        handle = ctypes.c_uint64()
        self._call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(fd), _POSIX_FD)
        return handle.value

    def mapped(self, handle: int, size: int) -> int:
        """The address at which an allocation is mapped into this process."""
        address, zero = ctypes.c_uint64(), ctypes.c_uint64(0)
        room, none = ctypes.c_size_t(size), ctypes.c_size_t(0)
        self._call("cuMemAddressReserve", ctypes.byref(address), room, none, zero, zero)
        self._call("cuMemMap", address, room, none, ctypes.c_uint64(handle), zero)
        access = _Access(self._place, _READ_WRITE)
        self._call("cuMemSetAccess", address, room, ctypes.byref(access), ctypes.c_size_t(1))
        return address.value

    def let_go(self, address: int, handle: int, size: int) -> None:
        """Unmap an allocation and give it back."""
        torch.cuda.synchronize()
        self._call("cuMemUnmap", ctypes.c_uint64(address), ctypes.c_size_t(size))
        self._call("cuMemAddressFree", ctypes.c_uint64(address), ctypes.c_size_t(size))
        self._call("cuMemRelease", ctypes.c_uint64(handle))

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._cuda, function)(*arguments)
        if code != 0:
            raise OSError(f"{function} failed with CUDA error {code}")


def main() -> int:
    """Time every kind at every size, print the table last."""
    asked = options(__doc__, child=True)
    if asked.child is not None:
        return child(socket.socket(fileno=asked.child))
    rows = []
    for size in SIZES_BYTES:
        row: dict[str, Any] = {"bytes_each_way": size}
        for kind in KINDS:
            with pair(kind, size) as time_ms:
                row[kind] = time_ms
        rows.append(row)
    write_record(asked.record, about("segment_memory") | {"calls": CALLS, "rows": rows})
    print(f"{'GiB each way':>13}" + "".join(f"{kind:>18}" for kind in KINDS) + "   (ms; ratio to torch)")
    for row in rows:
        cells = "".join(f"{row[kind]:>10.4f} {row[kind] / row['torch']:>7.3f}" for kind in KINDS)
        print(f"{row['bytes_each_way'] / GIB:>13.3f}{cells}")
    return 0


@contextmanager
def pair(kind: str, size: int) -> Iterator[float]:
    """The time of ReLU from one piece of memory of a kind to another one; both are given back afterwards."""
    torch.cuda.empty_cache()
    if kind == "torch":
        yield relu_ms(*(torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2)))
    elif not kind.startswith("created"):
        beyond = 0 if kind.startswith("alloc") else UNEVEN_BYTES
        page_bytes = 1 if kind.startswith("uneven") else PAGE_BYTES
        segments = [CudaSegment(size + beyond, page_bytes) for _ in range(2)]
        if kind.endswith("over ipc"):
            yield in_child({"size": size, "handles": [segment.export()[0]["handle"] for segment in segments]}, [])
        else:
            yield relu_ms(*(segment.bytes[:size] for segment in segments))
        for segment in segments:
            segment.close()
    else:
        driver = Driver()
        created = [driver.create(size) for _ in range(2)]
        places = [driver.mapped(handle, rounded) for handle, rounded in created]
        if kind == "created":
            yield relu_ms(*(byte_tensor_at(place, size) for place in places))
        else:
            fds = [driver.export(handle) for handle, _ in created]
            yield in_child({"size": size, "mapped_size": created[0][1]}, fds)
            for fd in fds:
                os.close(fd)
        for place, (handle, rounded) in zip(places, created, strict=True):
            driver.let_go(place, handle, rounded)


def in_child(order: dict[str, Any], fds: list[int]) -> float:
    """The time in a process of its own that maps the memory."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "benchmarks.segment_memory", "--child", str(theirs.fileno())]
    with ours, subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True) as process:
        theirs.close()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        ours.sendmsg([json.dumps(order).encode()], ancillary)
        printed, _ = process.communicate()
    return float(printed)


def child(channel: socket.socket) -> int:
    """Map what the order names, time there, print the milliseconds."""
    message, fds, _, _ = socket.recv_fds(channel, 65536, 2)
    order = json.loads(message)
    if fds:
        driver = Driver()
        places = [driver.mapped(driver.take(fd), order["mapped_size"]) for fd in fds]
    else:
        places = [open_ipc(bytes.fromhex(handle)) for handle in order["handles"]]
    print(relu_ms(*(byte_tensor_at(place, order["size"]) for place in places)))
    return 0


def relu_ms(source: torch.Tensor, target: torch.Tensor) -> float:
    """Median milliseconds of ReLU from one flat uint8 tensor into another of the same size, with a cold L2."""
    x, y = source.view(torch.float32), target.view(torch.float32)
    x.normal_()
    evict = evictor()
    found = []
    for _ in range(CALLS):
        evict()
        found.append(between_events_ms(lambda: torch.clamp_min(x, 0.0, out=y)))
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
