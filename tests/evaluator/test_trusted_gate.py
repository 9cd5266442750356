"""The trusted runner stands still when it is told to, in a control group where there is one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.judge.call import SignalGate
from evaluator.judge.trusted_gate import GroupGate, trusted_gate

COUNTS = "import sys, time\nfor n in range(10**9):\n print(n, flush=True)\n time.sleep(0.001)"


@pytest.fixture
def counter(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    path = tmp_path / "counted"
    with path.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", COUNTS], stdout=file)
    yield process, path
    process.kill()
    process.wait()


def grows(path: Path) -> bool:
    before = path.stat().st_size
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        time.sleep(0.02)
        if path.stat().st_size > before:
            return True
    return False


def until_it_grows(path: Path) -> None:
    end = time.monotonic() + 60
    while not grows(path):
        assert time.monotonic() < end


def until_it_stands_still(path: Path) -> None:
    end = time.monotonic() + 60
    while grows(path):
        assert time.monotonic() < end


@pytest.mark.parametrize("kind", ["whatever there is", "signals"])
def test_a_frozen_runner_does_nothing_until_it_is_let_go(
    counter: tuple[subprocess.Popen[bytes], Path], kind: str
) -> None:
    process, path = counter
    until_it_grows(path)
    gate = SignalGate(process.pid) if kind == "signals" else trusted_gate(process.pid)
    gate.freeze()
    if isinstance(gate, SignalGate):
        until_it_stands_still(path)  # a signal takes effect in its own time; a group waits for it
    assert not grows(path)
    gate.thaw()
    until_it_grows(path)
    process.kill()
    process.wait()
    gate.close()
    if isinstance(gate, GroupGate):
        assert not gate._group.core.exists()


def test_a_process_that_is_gone_needs_no_gate() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    gate = trusted_gate(process.pid)
    gate.freeze()
    gate.thaw()
    gate.close()
    assert not Path(f"/proc/{process.pid}").exists()
