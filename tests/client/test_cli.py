"""The command line as a process of its own, against a real server."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from kernel_grader_client import KernelGrader

from launcher.demo_server import OwnServer
from launcher.ports import free_port
from tests.app.test_episodes import TASK, source


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "KERNEL_GRADER_URL": url, "NO_COLOR": "1", "COLUMNS": "160", "NO_PROXY": "*"}
    command = [sys.executable, "-m", "kernel_grader_client", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)


class Screen:
    """A command in a terminal of its own."""

    def __init__(self, url: str, *arguments: str) -> None:
        own, theirs = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        environ = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
        environ |= {"KERNEL_GRADER_URL": url, "TERM": "xterm-256color", "NO_PROXY": "*"}
        command = [sys.executable, "-m", "kernel_grader_client", *arguments]
        self._process = subprocess.Popen(command, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self._screen, self._shown = own, ""

    def wait_for(self, text: str) -> None:
        while text not in self._shown:
            assert self._read(), f"{text!r} was not shown: {self._shown!r}"

    def end(self) -> tuple[int, str]:
        """(the exit code, everything that was shown)"""
        while self._read():
            pass
        os.close(self._screen)
        return self._process.wait(60), self._shown

    def _read(self) -> bool:
        """Whether there was more, within a minute."""
        if not select.select([self._screen], [], [], 60)[0]:
            return False
        try:
            found = os.read(self._screen, 65536)
        except OSError:  # so a terminal ends that nobody writes to any more
            return False
        self._shown += found.decode(errors="replace")
        return bool(found)


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


def test_a_terminal_shows_where_it_is_and_the_verdict_in_colour(server: OwnServer, tmp_path: Path) -> None:
    with KernelGrader(server.url, trust_env=False) as grader:
        blocker = grader.submit(source("correct eval_s=60"), task_id=TASK, priority="high")
        screen = Screen(server.url, "submit", file(tmp_path, "correct eval_s=0.5"), "--task", TASK)
        screen.wait_for("place 1 in the queue")
        grader.cancel(blocker)
        screen.wait_for("running")
        code, shown = screen.end()
    assert code == 0
    assert re.search(r"\x1b\[[0-9;]*32[0-9;]*m[^\x1b]*correct", shown), "the verdict is not green"


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
    (tmp_path / "latin.py").write_bytes(b"# \xe9")
    latin = run(server.url, "submit", str(tmp_path / "latin.py"), "--task", TASK)
    assert (latin.returncode, "UTF-8" in latin.stderr, "Traceback" in latin.stderr) == (2, True, False)
    nowhere = run("localhost:8000", "tasks")
    assert (nowhere.returncode, "http://HOST:PORT" in nowhere.stderr) == (4, True)
    away = run(f"http://127.0.0.1:{free_port()}", "--patience", "0.3", "tasks")
    assert (away.returncode, "Traceback" in away.stderr) == (4, False)


def test_bench(server: OwnServer) -> None:
    done = run(server.url, "bench", "--submissions", "10", "--concurrency", "4", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [phase["count"] for phase in report["phases"][:2]] == [10, 10]
    assert report["ended"] == {"correct": 10}
