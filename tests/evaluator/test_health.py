"""The probe of a device: right sums, and no slower than it has been."""

import json
from pathlib import Path

import pytest
import torch

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.judge import health
from evaluator.judge.health import Health

TASKS = Path(__file__).resolve().parents[2] / "kernelbench_tasks"


def test_a_judge_answers_a_probe(tmp_path: Path) -> None:
    config = EvaluatorConfig("cpu", str(TASKS), str(tmp_path), lanes=2)
    judge = JudgeProcess(config)
    judge.start()
    client = JudgeClient(judge.socket_path, config)
    try:
        found = client.probe()
    finally:
        client.close()
        judge.close()
    assert found["ok"] is True
    assert found["probe_ms"] > 0


def test_a_wrong_sum_is_a_fault_of_the_device() -> None:
    sick = Health("cpu", None)
    sick._right[7, 3] += 1
    with pytest.raises(GraderFault, match="wrong") as caught:
        sick.probe()
    assert caught.value.code == "device_fault"


def test_a_device_is_held_against_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PAUSE_S", 0.01)
    path = tmp_path / "record.json"
    measured = Health("cpu", path).probe()
    assert json.loads(path.read_text())["record_ms"] == measured.record_ms
    path.write_text(json.dumps({"record_ms": measured.record_ms / 1000}))
    with pytest.raises(GraderFault, match="has done in"):
        Health("cpu", path).probe()
    path.write_text("torn")
    assert Health("cpu", path).probe().probe_ms > 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_keeps_its_record(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    probes = [Health("cuda", path).probe() for _ in range(3)]
    assert probes[-1].record_ms == min(probe.probe_ms for probe in probes)
