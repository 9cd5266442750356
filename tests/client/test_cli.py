"""The command line as a process of its own, against a real server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.demo_server import OwnServer
from tests.app.test_episodes import TASK, source
from tests.services.ports import free_port


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "KERNEL_GRADER_URL": url, "NO_COLOR": "1", "COLUMNS": "160", "NO_PROXY": "*"}
    command = [sys.executable, "-m", "kernel_grader_client", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)


def file(folder: Path, mock: str) -> str:
    path = folder / "kernel.py"
    path.write_text(source(mock))
    return str(path)


@pytest.mark.parametrize(
    ("mock", "code", "says"),
    [
        ("correct speedup=2.0 eval_s=1.5", 0, "correct"),
        ("incorrect", 1, "incorrect"),
        ("fault code=internal_error", 3, "not graded"),
    ],
)
def test_submit(server: OwnServer, tmp_path: Path, mock: str, code: int, says: str) -> None:
    done = run(server.url, "submit", file(tmp_path, mock), "--task", TASK)
    assert done.returncode == code, done.stderr
    assert says in done.stdout
    if code == 0:
        assert "speedup" in done.stdout
        assert "running" in done.stdout


def test_submit_and_watch(server: OwnServer, tmp_path: Path) -> None:
    path = file(tmp_path, "correct eval_s=0.5")
    sent = run(server.url, "submit", path, "--task", TASK, "--run", "cli", "--no-wait")
    assert sent.returncode == 0, sent.stderr
    watched = run(server.url, "watch", sent.stdout.strip())
    assert (watched.returncode, "correct" in watched.stdout) == (0, True)
    assert "1 correct" in run(server.url, "watch", "--run", "cli").stdout
    as_json = run(server.url, "submit", path, "--task", TASK, "--json")
    assert json.loads(as_json.stdout)["verdict"] == "correct"
    assert "correct" in run(server.url, "leaderboard", TASK).stdout or as_json.returncode == 0


def test_lists(server: OwnServer, tmp_path: Path) -> None:
    assert TASK in run(server.url, "tasks", "--level", "1").stdout
    assert run(server.url, "submit", file(tmp_path, "correct speedup=7.0"), "--task", TASK).returncode == 0
    assert "7.000" in run(server.url, "leaderboard", TASK).stdout
    assert run(server.url, "episodes", "--run", "nobody").stdout.strip() == "none"


def test_what_goes_wrong_is_a_sentence_and_an_exit_code(server: OwnServer, tmp_path: Path) -> None:
    path = file(tmp_path, "correct")
    unknown = run(server.url, "submit", path, "--task", "level1/99999_Nothing")
    assert (unknown.returncode, "unknown_task" in unknown.stderr, "Traceback" in unknown.stderr) == (2, True, False)
    assert run(server.url, "submit", path).returncode == 2
    assert run(server.url, "submit", str(tmp_path / "nothing.py"), "--task", TASK).returncode == 2
    away = run(f"http://127.0.0.1:{free_port()}", "--patience", "0.3", "tasks")
    assert (away.returncode, "Traceback" in away.stderr) == (4, False)


def test_bench(server: OwnServer) -> None:
    done = run(server.url, "bench", "--submissions", "10", "--concurrency", "4", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [phase["count"] for phase in report["phases"][:2]] == [10, 10]
    assert report["ended"] == {"correct": 10}
