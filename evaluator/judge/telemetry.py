"""What a GPU's driver says of its state: clocks, temperature, power, reasons to run slower. Asks NVML."""

import ctypes
from typing import Any

_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_CORE = 0
# Bits of nvmlClocksThrottleReasons (nvml.h); an idle GPU and an operator's own settings slow nothing down by surprise.
_REASONS = {
    0x2: "applications_clocks_setting",
    0x4: "power_cap",
    0x8: "hardware_slowdown",
    0x10: "sync_boost",
    0x20: "thermal",
    0x40: "hardware_thermal",
    0x80: "hardware_power_brake",
    0x100: "display_clocks",
}


class Telemetry:
    """Readings of one GPU by its UUID; {} where there is no NVML, as for a CPU."""

    def __init__(self, gpu_id: str | None) -> None:
        self._handle = ctypes.c_void_p()
        self._nvml: ctypes.CDLL | None = None
        if gpu_id is None:
            return
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        failed = nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByUUID(gpu_id.encode(), ctypes.byref(self._handle))
        self._nvml = None if failed else nvml

    def read(self) -> dict[str, Any]:
        """`sm_clock_mhz`, `memory_clock_mhz`, `temperature_c`, `power_w` and `throttle`, a list of reasons."""
        if self._nvml is None:
            return {}
        sm, memory = (self._number("ClockInfo", ctypes.c_uint, kind) for kind in (_SM_CLOCK, _MEMORY_CLOCK))
        power_mw = self._number("PowerUsage", ctypes.c_uint)
        reasons = self._number("CurrentClocksThrottleReasons", ctypes.c_ulonglong)
        return {
            "sm_clock_mhz": sm,
            "memory_clock_mhz": memory,
            "temperature_c": self._number("Temperature", ctypes.c_uint, _CORE),
            "power_w": None if power_mw is None else round(power_mw / 1000, 1),
            "throttle": None if reasons is None else throttle(reasons),
        }

    def _number(self, what: str, kind: type[ctypes.c_uint] | type[ctypes.c_ulonglong], *of: int) -> int | None:
        value = kind()
        failed = getattr(self._nvml, f"nvmlDeviceGet{what}")(self._handle, *of, ctypes.byref(value))
        return None if failed else int(value.value)


def throttle(bits: int) -> list[str]:
    """The names of the reasons in NVML's bit mask."""
    return [name for bit, name in _REASONS.items() if bits & bit]
