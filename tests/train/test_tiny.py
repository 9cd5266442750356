"""The demonstration, shortened and with made-up verdicts: all its steps, its second half from a checkpoint."""

from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from launcher.demo_server import OwnServer
from train.tiny.kernels import TASK_IDS
from train.tiny.run import MAX_TURNS, Demo, DemoSettings

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_demonstration(server: OwnServer, tmp_path: Path) -> None:
    console = Console(width=200, record=True)
    settings = DemoSettings(tmp_path, server.url, updates=2, generations=2, seed=0, cpu=True, imitations=10)
    records = Demo(settings, console).run()
    played = [("eval", 0), ("train", 0), ("train", 1), ("eval", 2)]
    assert Counter((record.phase, record.step) for record in records) == dict.fromkeys(played, 2 * len(TASK_IDS))
    assert len({record.session for record in records}) == 2
    assert {len(record.turns) for record in records} == {MAX_TURNS}
    text = console.export_text()
    lines = ["evaluated after update 0: return", "update 1 of 1: return", "going on from the checkpoint"]
    lines += ["update 2 of 2: return", "evaluated after update 2 of 2: return", "After 2 updates: "]
    assert sorted(lines, key=text.index) == lines
    assert "  given    <|im_start|>" in text
    assert "  trained  ```python" in text
    assert "Report: " in text
    assert (tmp_path / "report.md").is_file()
    assert (tmp_path / "model" / "model.safetensors").is_file()
