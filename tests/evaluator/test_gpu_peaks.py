"""The peaks of the device at hand: from the table, measured where the operator asks, or none."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from evaluator.config import EvaluatorConfig
from evaluator.judge import gpu_peaks
from evaluator.judge.device import CpuJudgeDevice, JudgeDevice, make_device
from evaluator.judge.gpu_peaks import measure, peaks_of
from evaluator.roofline.peaks import Peaks

SIZES = {"fp64": 64, "fp32": 64, "tf32": 64, "bf16": 32, "fp16": 32}


def config(folder: Path, **changes: Any) -> EvaluatorConfig:
    return EvaluatorConfig("gpu", "tasks", str(folder), **changes)


class Unknown:
    """What the judge would see of a GPU that came out tomorrow."""

    name = "cuda"
    gpu_name = "NVIDIA X900"

    def describe(self) -> dict[str, Any]:
        return {"gpu_id": "GPU-1"}


UNKNOWN = cast(JudgeDevice, Unknown())


def test_a_cpu_has_no_peaks(tmp_path: Path) -> None:
    assert peaks_of(CpuJudgeDevice(), config(tmp_path, measure_unknown_gpu=True)) is None


def test_an_unknown_gpu_is_not_measured_unasked(tmp_path: Path) -> None:
    assert peaks_of(UNKNOWN, config(tmp_path)) is None


def test_an_unknown_gpu_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Peaks("X900", {"fp32": 1.0}, 2.0, 3.0, "measured on this machine", measured=True)
    taken = []
    monkeypatch.setattr(gpu_peaks, "measure", lambda *_: taken.append(1) or found)
    properties = type("Properties", (), {"L2_cache_size": 5_000_000})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    asked = config(tmp_path, measure_unknown_gpu=True)
    assert [peaks_of(UNKNOWN, asked) for _ in range(2)] == [replace(found, l2_mb=5.0)] * 2
    assert len(taken) == 1
    (tmp_path / "peaks-GPU-1.json").write_text("{torn")
    assert peaks_of(UNKNOWN, asked) == replace(found, l2_mb=5.0)
    assert len(taken) == 2


def test_what_a_device_reaches_is_measured() -> None:
    found = measure("this one", "cpu", copy_bytes=1 << 22, sizes=SIZES)
    assert set(found.tflops) == set(SIZES)
    assert all(rate > 0 for rate in found.tflops.values())
    assert found.tflops["tf32"] >= found.tflops["fp32"]
    assert 0.01 < found.bandwidth_gb_s < 10_000
    assert found.measured


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_of_the_table_reaches_most_of_its_datasheet_and_not_more(tmp_path: Path) -> None:
    known = peaks_of(make_device("gpu"), config(tmp_path))
    if known is None:
        pytest.skip("this GPU is not in the table")
    found = measure(known.name, "cuda")
    assert 0.7 < found.bandwidth_gb_s / known.bandwidth_gb_s <= 1.0
    for unit in ("tf32", "bf16"):
        assert 0.4 < found.tflops[unit] / known.tflops[unit] <= 1.0
