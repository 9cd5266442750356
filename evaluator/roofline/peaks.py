"""Datasheet peaks by GPU: dense rates in TFLOP/s by the unit that does the work, memory bandwidth in GB/s, L2 in MB.

Sources are the vendors' datasheets and white papers named beside each row; rates with structured sparsity are halved.
Where two editions differ, the higher figure stands: a floor must not lie above what the device can do.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Peaks:
    """`tflops` maps fp64, fp32, tf32, bf16 and fp16 to the fastest dense TFLOP/s of any unit that does such work.

    `measured`: by this machine, for want of a datasheet. What was reached once is no bound on what can be reached.
    """

    name: str
    tflops: dict[str, float]
    bandwidth_gb_s: float
    l2_mb: float
    source: str
    measured: bool = False


def _rates(fp64: float, fp32: float, tf32: float, half: float, fp16: float | None = None) -> dict[str, float]:
    """`fp16` where sums in fp16 are faster than in fp32, as on consumer boards."""
    return {"fp64": fp64, "fp32": fp32, "tf32": tf32, "bf16": half, "fp16": fp16 or half}


_H100 = _rates(67.0, 67.0, 494.7, 989.4)
_H100_NVL = _rates(60.0, 60.0, 417.5, 835.5)
_A100 = _rates(19.5, 19.5, 156.0, 312.0)
_T4 = {"fp64": 0.253, "fp32": 8.1, "tf32": 8.1, "bf16": 8.1, "fp16": 65.0}  # tensor cores for fp16 alone

# Matched in order against the name that the driver gives: the more specific comes first.
PEAKS: tuple[tuple[str, Peaks], ...] = (
    ("GB200", Peaks("GB200", _rates(40.0, 80.0, 1250.0, 2500.0), 8000.0, 126.0, "NVIDIA GB200 NVL72 datasheet, 2025")),
    ("B200", Peaks("B200 SXM", _rates(40.0, 80.0, 1125.0, 2250.0), 8000.0, 126.0, "NVIDIA HGX B200 datasheet, 2025")),
    ("GH200 144G", Peaks("GH200 144 GB", _H100, 4900.0, 60.0, "NVIDIA GH200 datasheet, 2024")),
    ("GH200", Peaks("GH200 96 GB", _H100, 4000.0, 60.0, "NVIDIA GH200 datasheet, 2024")),
    ("H200 NVL", Peaks("H200 NVL", _H100_NVL, 4800.0, 60.0, "NVIDIA H200 datasheet, 2024")),
    ("H200", Peaks("H200 SXM", _H100, 4800.0, 60.0, "NVIDIA H200 datasheet, 2024")),
    ("H100 NVL", Peaks("H100 NVL", _H100_NVL, 3900.0, 50.0, "NVIDIA H100 datasheet, 2024")),
    ("H100 PCIe", Peaks("H100 PCIe", _rates(51.0, 51.0, 378.0, 756.0), 2000.0, 50.0, "NVIDIA H100 datasheet, 2022")),
    ("H100", Peaks("H100 SXM", _H100, 3350.0, 50.0, "NVIDIA H100 datasheet, 2024")),
    ("A100-SXM4-80GB", Peaks("A100 SXM 80 GB", _A100, 2039.0, 40.0, "NVIDIA A100 datasheet, 2022")),
    ("A100-SXM-80GB", Peaks("A100 SXM 80 GB", _A100, 2039.0, 40.0, "NVIDIA A100 datasheet, 2022")),
    ("A100 80GB PCIe", Peaks("A100 PCIe 80 GB", _A100, 1935.0, 40.0, "NVIDIA A100 datasheet, 2022")),
    ("A100", Peaks("A100 40 GB", _A100, 1555.0, 40.0, "NVIDIA A100 datasheet, 2020")),
    ("L40S", Peaks("L40S", _rates(1.43, 91.6, 183.0, 362.05), 864.0, 96.0, "NVIDIA L40S datasheet, 2023")),
    ("L40", Peaks("L40", _rates(1.41, 90.5, 90.5, 181.05), 864.0, 96.0, "NVIDIA L40 datasheet, 2023")),
    ("L4", Peaks("L4", _rates(0.47, 30.3, 60.0, 121.0), 300.0, 48.0, "NVIDIA L4 datasheet, 2023")),
    ("A10", Peaks("A10", _rates(0.49, 31.2, 62.5, 125.0), 600.0, 6.0, "NVIDIA A10 datasheet, 2021")),
    ("T4", Peaks("T4", _T4, 320.0, 4.0, "NVIDIA T4 datasheet, 2019")),
    ("RTX 5090", Peaks("RTX 5090", _rates(1.64, 104.8, 104.8, 209.5, 419.0), 1792.0, 96.0,
                       "NVIDIA RTX Blackwell GPU architecture white paper, 2025")),
    ("RTX 4090", Peaks("RTX 4090", _rates(1.29, 82.6, 82.6, 165.2, 330.3), 1008.0, 72.0,
                       "NVIDIA Ada GPU architecture white paper, 2022")),
)  # fmt: skip
# Cut-down boards whose names contain the name of a full one.
_OTHERS = ("RTX 5090 D", "RTX 4090 D", "RTX 5090 Laptop", "RTX 4090 Laptop")


def find_peaks(gpu_name: str | None) -> Peaks | None:
    """The row for a GPU by the driver's name for it, or None for one that is not in the table.

    Patterns match whole words: an L40 is no L4. A MIG slice has a share of its GPU's peaks that its name does not tell.
    """
    if gpu_name is None or " MIG " in gpu_name or any(other in gpu_name for other in _OTHERS):
        return None
    return next((peaks for pattern, peaks in PEAKS if re.search(rf"\b{re.escape(pattern)}\b", gpu_name)), None)
