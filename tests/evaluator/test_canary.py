"""The canary: noise, drift against the device's own record, and its place between grades and in results."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.judge import canary
from evaluator.judge.canary import Canary
from evaluator.judge.clock import PhaseClock
from evaluator.judge.device import CpuJudgeDevice, make_device
from evaluator.judge.telemetry import Telemetry, throttle
from evaluator.judge.turn import DeviceBusy, DeviceTurn
from evaluator.submission import Submission

ROOT = Path(__file__).resolve().parents[2]
RELU = (ROOT / "examples" / "relu.py").read_text()


def made(path: Path) -> Canary:
    return Canary(CpuJudgeDevice(), Telemetry(None), path)


def test_it_times_a_copy_and_a_product_against_themselves(tmp_path: Path) -> None:
    found = made(tmp_path / "canary.json").sing()
    assert set(found["kernels"]) == {"copy", "product"}
    for kernel in found["kernels"].values():
        assert 0 < kernel["record_ms"] <= kernel["median_ms"]
        assert kernel["noise_frac"] >= 0
        assert kernel["drift_frac"] == 0  # the first look is the record
    assert found["noise_floor_frac"] == max(kernel["noise_frac"] for kernel in found["kernels"].values())


def test_drift_is_against_the_best_that_this_device_has_shown(tmp_path: Path) -> None:
    path = tmp_path / "canary.json"
    made(path).sing()
    best = json.loads(path.read_text())
    path.write_text(json.dumps({name: ms / 100 for name, ms in best.items()}))
    found = made(path).sing()  # a new judge knows what the last one kept
    assert found["drift_frac"] > 1
    assert json.loads(path.read_text()) == {name: ms / 100 for name, ms in best.items()}
    path.write_text("torn")
    assert made(path).sing()["drift_frac"] == 0


def test_a_device_that_fails_is_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(canary.COPY_BYTES, "cpu", -4)
    with pytest.raises(GraderFault) as caught:
        made(tmp_path / "canary.json").sing()
    assert caught.value.code == "device_fault"


def test_a_device_without_room_is_only_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Canary) -> dict[str, Any]:
        raise torch.OutOfMemoryError("grades hold all of it")

    monkeypatch.setattr(Canary, "_works", full)
    singer = made(tmp_path / "canary.json")
    with pytest.raises(DeviceBusy):
        singer.sing()
    assert singer.latest is None


def test_a_result_keeps_noise_drift_and_age(tmp_path: Path) -> None:
    singer = made(tmp_path / "canary.json")
    assert singer.in_result() is None
    found = singer.sing()
    kept: dict[str, Any] = singer.in_result() or {}
    assert kept.pop("age_s") >= 0
    assert kept == {name: found[name] for name in ("noise_floor_frac", "drift_frac")}


def test_a_turn_that_does_not_come_in_time_is_given_up() -> None:
    turn, clock = DeviceTurn(), PhaseClock(lambda _: None, 1.0)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with turn.held(clock, "timing", None):
            inside.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(30)
    with pytest.raises(DeviceBusy), turn.held(clock, "canary", None, 0.1):
        pass
    leave.set()
    holder.join(30)
    with turn.held(clock, "canary", None, 0.1):
        pass


def test_reasons_to_run_slower_are_named() -> None:
    assert throttle(0x1) == []  # idle
    assert throttle(0x4 | 0x40) == ["power_cap", "hardware_thermal"]


def test_without_a_driver_there_are_no_readings() -> None:
    assert Telemetry(None).read() == {}
    assert Telemetry("GPU-00000000-0000-0000-0000-000000000000").read() == {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeClient]:
    config = EvaluatorConfig("cpu", str(ROOT / "kernelbench_tasks"), str(tmp_path_factory.mktemp("judge")))
    judge = JudgeProcess(config)
    judge.start()
    asked = JudgeClient(judge.socket_path, config)
    yield asked
    asked.close()
    judge.close()


def test_every_result_says_how_noisy_its_device_is(client: JudgeClient) -> None:
    report = client.evaluate(Submission("canary", "level1/19_ReLU", RELU, "triton", "ab" * 32), lambda phase: None)
    assert report.correct
    assert report.environment["canary"]["noise_floor_frac"] >= 0
    assert report.environment["device_around_timing"] == {"before": {}, "after": {}}  # a CPU tells nothing
    assert report.environment["device_held_s"]["canary"] > 0  # the first grade found none yet
    again = client.evaluate(Submission("canary", "level1/19_ReLU", RELU, "triton", "cd" * 32), lambda phase: None)
    assert "canary" not in again.environment["device_held_s"]


def test_a_judge_sings_when_asked(client: JudgeClient) -> None:
    found = client.canary()
    assert found is not None
    assert set(found["kernels"]) == {"copy", "product"}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_is_quiet_and_tells_its_clocks(tmp_path: Path) -> None:
    device = make_device("gpu")
    found = Canary(device, Telemetry(device.describe()["gpu_id"]), tmp_path / "canary.json").sing()
    assert found["noise_floor_frac"] < 0.02
    assert found["sm_clock_mhz"] > 200
    assert found["temperature_c"] > 10
    assert isinstance(found["throttle"], list)
