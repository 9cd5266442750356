"""The least time that work can take, and what the judge makes of a time below it."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judge.verdict import judgement
from evaluator.limits import Limits
from evaluator.report import Timing
from evaluator.roofline.model import Work, compute_floor_ms, memory_floor_ms, roofline
from evaluator.roofline.peaks import PEAKS, Peaks, find_peaks
from evaluator.verdicts import Verdict

GB = 10**9
PEAK = Peaks("test", {"fp64": 1, "fp32": 2, "tf32": 10, "bf16": 20, "fp16": 20}, 1000.0, 50.0, "made up")
Works = st.builds(
    Work,
    st.floats(0, 1e15),
    *[st.integers(0, 10**12)] * 3,
    st.sampled_from(["float32", "float64", "float16", "bfloat16", "int64"]),
)


@pytest.mark.parametrize(
    ("driver_name", "row"),
    [
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA A100-SXM4-40GB", "A100 40 GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40 GB"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40", "L40"),
        ("NVIDIA B200", "B200 SXM"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA GH200 480GB", "GH200 96 GB"),
        ("NVIDIA GH200 144G HBM3e", "GH200 144 GB"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", None),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090 D", None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA H20", None),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("NVIDIA GeForce GTX 1080", None),
        (None, None),
    ],
)
def test_gpus_are_found_by_the_drivers_name(driver_name: str | None, row: str | None) -> None:
    found = find_peaks(driver_name)
    assert (found.name if found else None) == row


@pytest.mark.parametrize("peaks", [peaks for _, peaks in PEAKS], ids=lambda peaks: peaks.name)
def test_every_row_is_complete_and_plausible(peaks: Peaks) -> None:
    assert set(peaks.tflops) == {"fp64", "fp32", "tf32", "bf16", "fp16"}
    assert peaks.tflops["tf32"] <= peaks.tflops["bf16"] <= 2.1 * peaks.tflops["tf32"]
    assert peaks.tflops["bf16"] <= peaks.tflops["fp16"]
    assert peaks.tflops["fp64"] <= peaks.tflops["fp32"] <= peaks.tflops["tf32"]
    assert 1 < peaks.l2_mb < 500
    assert not peaks.measured
    assert 100 < peaks.bandwidth_gb_s < 20_000
    assert peaks.source


def test_memory_bound_work() -> None:
    line = roofline(Work(1e9, 2 * GB, 1 * GB, 1 * GB, "float32"), PEAK)
    assert (line.t_min_ms, line.bound, line.arithmetic_intensity) == (4.0, "memory", 0.25)


def test_compute_bound_work_on_the_unit_of_its_type() -> None:
    times = {dtype: roofline(Work(1e12, 1, 1, 1, dtype), PEAK) for dtype in ("float32", "float64", "bfloat16")}
    assert {dtype: line.t_min_ms for dtype, line in times.items()} == {
        "float32": 100.0,
        "float64": 1000.0,
        "bfloat16": 50.0,
    }
    assert {line.bound for line in times.values()} == {"compute"}


@given(Works)
def test_the_roofline_is_the_larger_floor_and_never_zero(work: Work) -> None:
    line = roofline(work, PEAK)
    assert line.t_min_ms > 0
    assert line.t_min_ms >= compute_floor_ms(work, PEAK)
    assert line.t_min_ms >= memory_floor_ms(work, PEAK)
    assert math.isfinite(line.arithmetic_intensity)


def test_outputs_that_fit_into_the_cache_need_not_reach_memory() -> None:
    assert memory_floor_ms(Work(0, 0, 0, 50_000_000, "float32"), PEAK) == 0.0
    assert memory_floor_ms(Work(0, 0, 0, 1_050_000_000, "float32"), PEAK) == 1.0


def timing(t_new_ms: float) -> Timing:
    speedup = 10.0 / t_new_ms
    return Timing(10.0, t_new_ms, speedup, (speedup, speedup), 5)


WORK = Work(4e10, 4 * GB, 0, 0, "float32")  # 4 ms at either floor


@pytest.mark.parametrize(
    ("t_new_ms", "peaks", "verdict", "suspicious"),
    [
        (5.0, PEAK, Verdict.CORRECT, False),
        (3.3, PEAK, Verdict.CORRECT, False),
        (3.1, PEAK, Verdict.REJECTED_TIMING, True),
        (3.1, None, Verdict.CORRECT, False),
        (0.1, None, Verdict.CORRECT, True),
    ],
)
def test_times_below_the_memory_floor_are_refused(
    t_new_ms: float, peaks: Peaks | None, verdict: Verdict, suspicious: bool
) -> None:
    report = judgement(WORK, timing(t_new_ms), peaks, Limits())
    assert (report.verdict, report.suspicious) == (verdict, suspicious)
    assert bool(report.warnings) == (report.correct and suspicious)
    assert report.roofline_violation == (verdict is Verdict.REJECTED_TIMING)
    assert (report.roofline is None) == (peaks is None)
    assert ("no known roofline" in report.feedback) == (peaks is None)


def test_flops_that_are_all_necessary_refuse_a_time_below_them() -> None:
    needed = Work(1e12, 1, 1, 1, "float32", flops_necessary=True)  # 100 ms
    assert judgement(needed, timing(79.0), PEAK, Limits()).roofline_violation
    assert judgement(needed, timing(81.0), PEAK, Limits()).verdict is Verdict.CORRECT


def test_the_floor_takes_the_fastest_unit_that_the_precision_policy_admits() -> None:
    needed = Work(1e12, 1, 1, 1, "float32", flops_necessary=True)
    assert roofline(needed, PEAK, "mark").t_min_ms == 50.0
    assert judgement(needed, timing(60.0), PEAK, Limits(), "reject").roofline_violation
    assert judgement(needed, timing(60.0), PEAK, Limits(), "mark").verdict is Verdict.CORRECT
    exact = Work(1e12, 1, 1, 1, "float64", flops_necessary=True)
    assert roofline(exact, PEAK, "mark") == roofline(exact, PEAK, "reject")


def test_what_was_measured_here_is_no_ground_to_refuse() -> None:
    report = judgement(WORK, timing(1.0), replace(PEAK, measured=True), Limits())
    assert (report.verdict, report.suspicious) == (Verdict.CORRECT, True)
    assert report.warnings == ["suspicious: less than the 4 ms that as much work as the reference's takes on this GPU"]
    assert report.roofline_frac == pytest.approx(4.0)


def test_only_what_must_be_read_counts_as_a_floor() -> None:
    weights = Work(0, 2 * GB, 3 * GB, 0, "float32")
    assert memory_floor_ms(weights, PEAK) == 2.0  # parameters may have been folded
    assert memory_floor_ms(replace(weights, flops_necessary=True), PEAK) == 5.0
    assert memory_floor_ms(replace(weights, required_bytes=GB), PEAK) == 1.0
    assert roofline(replace(weights, required_bytes=GB), PEAK) == roofline(weights, PEAK)


def test_flops_that_algebra_may_remove_only_raise_a_suspicion() -> None:
    report = judgement(Work(1e12, 1, 1, 1, "float32"), timing(1.0), PEAK, Limits())
    assert (report.verdict, report.suspicious) == (Verdict.CORRECT, True)
    assert report.roofline_frac == pytest.approx(100.0)
