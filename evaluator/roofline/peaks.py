"""Datasheet peaks by GPU: dense rates in TFLOP/s by the unit that does the work, memory bandwidth in GB/s, L2 in MB.

Sources are the vendors' datasheets named beside each row; rates with structured sparsity are halved.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Peaks:
    """`tflops` maps fp64, fp32, tf32, bf16 and fp16 to dense TFLOP/s (tensor cores from tf32 on)."""

    name: str
    tflops: dict[str, float]
    bandwidth_gb_s: float
    l2_mb: float
    source: str


_HOPPER_SXM = {"fp64": 67.0, "fp32": 67.0, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4}
_AMPERE_A100 = {"fp64": 19.5, "fp32": 19.5, "tf32": 156.0, "bf16": 312.0, "fp16": 312.0}

# Matched in order against the name that the driver gives: the more specific comes first.
PEAKS: tuple[tuple[str, Peaks], ...] = (
    ("H200 NVL", Peaks("H200 NVL", {"fp64": 60.0, "fp32": 60.0, "tf32": 417.5, "bf16": 835.5, "fp16": 835.5},
                       4800.0, 50.0, "NVIDIA H200 datasheet, 2024")),
    ("H200", Peaks("H200 SXM", _HOPPER_SXM, 4800.0, 50.0, "NVIDIA H200 datasheet, 2024")),
    ("H100 NVL", Peaks("H100 NVL", {"fp64": 60.0, "fp32": 60.0, "tf32": 417.5, "bf16": 835.5, "fp16": 835.5},
                       3900.0, 50.0, "NVIDIA H100 datasheet, 2024")),
    ("H100 PCIe", Peaks("H100 PCIe", {"fp64": 51.0, "fp32": 51.0, "tf32": 378.0, "bf16": 756.0, "fp16": 756.0},
                        2000.0, 50.0, "NVIDIA H100 datasheet, 2022")),
    ("H100", Peaks("H100 SXM", _HOPPER_SXM, 3350.0, 50.0, "NVIDIA H100 datasheet, 2024")),
    ("A100-SXM4-80GB", Peaks("A100 SXM 80 GB", _AMPERE_A100, 2039.0, 40.0, "NVIDIA A100 datasheet, 2022")),
    ("A100 80GB PCIe", Peaks("A100 PCIe 80 GB", _AMPERE_A100, 1935.0, 40.0, "NVIDIA A100 datasheet, 2022")),
    ("A100", Peaks("A100 40 GB", _AMPERE_A100, 1555.0, 40.0, "NVIDIA A100 datasheet, 2020")),
    ("L40S", Peaks("L40S", {"fp64": 1.43, "fp32": 91.6, "tf32": 183.0, "bf16": 362.05, "fp16": 362.05},
                   864.0, 96.0, "NVIDIA L40S datasheet, 2023")),
    ("L4", Peaks("L4", {"fp64": 0.47, "fp32": 30.3, "tf32": 60.0, "bf16": 121.0, "fp16": 121.0},
                 300.0, 48.0, "NVIDIA L4 datasheet, 2023")),
)  # fmt: skip


def find_peaks(gpu_name: str | None) -> Peaks | None:
    """The row for a GPU by the driver's name for it, or None for one that is not in the table.

    Patterns match whole words: an L40 is no L4. A MIG slice has a share of its GPU's peaks that its name does not tell.
    """
    if gpu_name is None or " MIG " in gpu_name:
        return None
    return next((peaks for pattern, peaks in PEAKS if re.search(rf"\b{re.escape(pattern)}\b", gpu_name)), None)
