"""Whether anything else runs on the device."""

import time
from typing import Protocol

# Contexts take turns of 2 ms on a GPU, and one that rests gives its turn away: what comes back after that long finds
# the device at once, whatever else runs there; what comes back earlier has to wait for the end of the other's turn.
# On an H200 a flush of 0.27 ms, 0.3 ms after another one, takes 1.4 to 1.9 ms beside a kernel that never ends.
_GAP_S = 0.0003
_GAP_MAX_S = 0.001
_PAUSE_S = 0.005


class Flushing(Protocol):
    def flushed_alone(self) -> bool:
        """Evict the caches and wait; whether it took as long as it does when nothing else runs."""


def idle_within(device: Flushing, wait_s: float) -> bool:
    """Wait up to so many seconds until nothing else runs on the device.

    A runner whose stream waits for a signal is something that runs.
    """
    end = time.monotonic() + wait_s
    while True:
        device.flushed_alone()
        rested = time.monotonic()
        time.sleep(_GAP_S)
        tells = time.monotonic() - rested < _GAP_MAX_S
        alone = device.flushed_alone()
        if alone and tells:
            return True
        if time.monotonic() > end:
            return False
        if not alone:
            time.sleep(_PAUSE_S)
