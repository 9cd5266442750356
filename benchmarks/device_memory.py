"""The most memory that a GPU held while something ran, over all its processes, sampled through NVML."""

import ctypes
import threading
from types import TracebackType
from typing import Self

SAMPLE_EVERY_S = 0.005


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class DeviceMemory:
    """`used_bytes` of one GPU by its index; None where there is no NVML, as on a machine without a GPU."""

    def __init__(self, index: int) -> None:
        self._handle = ctypes.c_void_p()
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            self._usable = False
            return
        found = self._nvml.nvmlInit_v2() or self._nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self._handle))
        self._usable = found == 0

    def used_bytes(self) -> int | None:
        """What all processes together hold now."""
        memory = _Memory()
        if not self._usable or self._nvml.nvmlDeviceGetMemoryInfo(self._handle, ctypes.byref(memory)) != 0:
            return None
        return int(memory.used)


class Peak:
    """`with Peak(memory) as peak: ...`, then `peak.bytes`: the most in use at any sample."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.bytes = memory.used_bytes()

    def __enter__(self) -> Self:
        if self.bytes is not None:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_EVERY_S):
            self.bytes = max(self.bytes or 0, self._memory.used_bytes() or 0)
