"""The peaks of the GPU at hand: from the table, or measured once where the table has none and the operator asks."""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch

from evaluator.config import EvaluatorConfig
from evaluator.judge.device import JudgeDevice
from evaluator.roofline.peaks import Peaks, find_peaks

COPY_BYTES = 1 << 30
ROWS, RUNS = 5, 5
# Large enough to fill any GPU; fp64 is slow on most.
MATRIX_SIZE = {"fp64": 2048, "fp32": 4096, "tf32": 8192, "bf16": 8192, "fp16": 8192}
_DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


def peaks_of(device: JudgeDevice, config: EvaluatorConfig) -> Peaks | None:
    """None for a CPU, and for an unknown GPU unless `config.measure_unknown_gpu` says to measure it."""
    if device.name != "cuda":
        return None
    found = find_peaks(device.gpu_name)
    if found is None and config.measure_unknown_gpu:
        found = _kept_or_measured(device, Path(config.state_dir))
    if found is None:
        return None
    # Boards of one name differ in their cache, and a floor must take the larger.
    return replace(found, l2_mb=max(found.l2_mb, torch.cuda.get_device_properties(0).L2_cache_size / 1e6))


def _kept_or_measured(device: JudgeDevice, state_dir: Path) -> Peaks:
    path = state_dir / f"peaks-{device.describe()['gpu_id']}.json"
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Peaks(**json.loads(path.read_text()))
    measured = measure(device.gpu_name or "unknown", "cuda")
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(measured)))
    draft.replace(path)
    return measured


def measure(name: str, device: str, copy_bytes: int = COPY_BYTES, sizes: dict[str, int] = MATRIX_SIZE) -> Peaks:
    """The best of several copies and matrix products, as rates that were reached here at least once."""
    bandwidth_gb_s = _copy_gb_s(copy_bytes, device)
    tflops = {unit: _product_tflops(unit, size, device) for unit, size in sizes.items()}
    # Whoever may use TF32 may also leave it alone.
    tflops["tf32"] = max(tflops["tf32"], tflops["fp32"])
    return Peaks(name, tflops, bandwidth_gb_s, 0.0, "measured on this machine", measured=True)


def _copy_gb_s(size_bytes: int, device: str) -> float:
    """A copy reads as much as it writes."""
    source = torch.zeros(size_bytes // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size_bytes / _best_s(lambda: target.copy_(source), device) / 1e9


def _product_tflops(unit: str, size: int, device: str) -> float:
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32" if unit == "tf32" else "ieee"
    try:
        left = torch.randn(size, size, device=device).to(_DTYPES.get(unit, torch.float16))
        right = left.T.contiguous()
        return 2 * size**3 / _best_s(lambda: left @ right, device) / 1e12
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


def _best_s(work: Callable[[], object], device: str) -> float:
    """Seconds of one run, the best of several rows of runs; in a row the launches take no time of their own."""
    work()
    return min(_row_s(work, device) for _ in range(ROWS))


def _row_s(work: Callable[[], object], device: str) -> float:
    _wait(device)
    started = time.perf_counter()
    for _ in range(RUNS):
        work()
    _wait(device)
    return (time.perf_counter() - started) / RUNS


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
