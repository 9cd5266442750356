"""Is the device well? A known computation, checked element by element and timed against its own record."""

import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evaluator.errors import GraderFault

SIZE = 512
REPEATS = 10
# clocks rise from idle within this time
WARM_UP_S = 0.05
# a device that is this much slower than it has been is throttled, shared or failing
SLOW_FACTOR = 3.0
# a killed runner's last kernel may hold the device for a moment
TRIES = 4
PAUSE_S = 1.0


@dataclass(frozen=True)
class Probe:
    """What a clean probe measured: the fastest of ten products of 512x512 matrices, and the fastest there ever was."""

    probe_ms: float
    record_ms: float

    def to_json(self) -> dict[str, Any]:
        return {"ok": True, "probe_ms": round(self.probe_ms, 5), "record_ms": round(self.record_ms, 5)}


class Health:
    """Probes of one device. `record` is a file that outlives the judge, or None where time says nothing (a CPU)."""

    def __init__(self, device: str, record: Path | None) -> None:
        # whole numbers below 8: exact in every precision that a matmul may use, and so is their sum in float32
        rows = torch.arange(SIZE * SIZE, dtype=torch.float64).reshape(SIZE, SIZE)
        left, right = rows.remainder(7), rows.remainder(5) - 2
        self._expected = (left @ right).to(torch.float32)
        self._device = device
        self._left, self._right = (side.to(device, torch.float32) for side in (left, right))
        self._record = record
        self._lock = threading.Lock()

    def probe(self) -> Probe:
        """To be called by whoever holds the device. Raises GraderFault `device_fault` where it is not well."""
        with self._lock:
            for attempt in range(TRIES):
                try:
                    probe_ms = self._measure()
                except RuntimeError as error:
                    raise GraderFault("device_fault", f"the device does not compute: {error}"[:500]) from error
                record_ms = min(probe_ms, self._read_record() or probe_ms)
                if self._record is None or probe_ms <= SLOW_FACTOR * record_ms:
                    self._write_record(record_ms)
                    return Probe(probe_ms, record_ms)
                if attempt < TRIES - 1:
                    time.sleep(PAUSE_S)
            detail = f"the device takes {probe_ms:.4g} ms for what it has done in {record_ms:.4g} ms"
            raise GraderFault("device_fault", detail)

    def _measure(self) -> float:
        """Milliseconds of one product. Raises RuntimeError where the device fails or computes something else."""
        until = time.monotonic() + WARM_UP_S
        found = self._left @ self._right
        while self._record is not None and time.monotonic() < until:
            found = self._left @ self._right
            self._wait()
        if not torch.equal(found.cpu(), self._expected):
            raise RuntimeError("a product of two known matrices is wrong")
        return min(self._timed() for _ in range(REPEATS))

    def _timed(self) -> float:
        self._wait()
        started = time.perf_counter()
        self._left @ self._right
        self._wait()
        return (time.perf_counter() - started) * 1000

    def _wait(self) -> None:
        if self._device == "cuda":
            torch.cuda.synchronize()

    def _read_record(self) -> float | None:
        if self._record is None:
            return None
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return float(json.loads(self._record.read_text())["record_ms"])
        return None

    def _write_record(self, record_ms: float) -> None:
        if self._record is None:
            return
        draft = self._record.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"record_ms": record_ms}))
        draft.replace(self._record)
