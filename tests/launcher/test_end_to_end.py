"""From an empty data directory to verdicts, with the `cpu` evaluator: what the README promises."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from launcher.commands import REPOSITORY
from launcher.demo import connect
from launcher.demo_server import OwnServer
from launcher.ports import free_port

EXAMPLES = REPOSITORY / "examples"
KERNELS = sorted(EXAMPLES.glob("relu*.py"))


@pytest.fixture(scope="module")
def api() -> Iterator[httpx.Client]:
    with (
        OwnServer(KERNEL_ENV_EVALUATOR="cpu", KERNEL_ENV_FIRST_CALL_S="8") as server,
        httpx.Client(base_url=server.url, timeout=90, trust_env=False) as client,
    ):
        yield client


def grade(api: httpx.Client, name: str) -> dict[str, Any]:
    """Send an example's body as curl would, and wait for the end."""
    body = (EXAMPLES / f"{name}.json").read_bytes()
    headers = {"Content-Type": "application/json"}
    submission: dict[str, Any] = api.post("/submissions", content=body, headers=headers).json()
    for _ in range(5):
        submission = api.get(f"/submissions/{submission['id']}", params={"wait": 60}).json()
        if submission["status"] in ("completed", "failed"):
            break
    return submission


def test_a_right_kernel(api: httpx.Client) -> None:
    submission = grade(api, "relu")
    assert (submission["status"], submission["verdict"], submission["stage"]) == ("completed", "correct", "ok")
    assert submission["reward"] >= 0.1
    assert submission["result"]["speedup"] > 0
    assert submission["environment"]["device"] == "cpu"
    assert submission["environment"]["isolation"]


def test_a_copy_of_the_input(api: httpx.Client) -> None:
    submission = grade(api, "relu_identity")
    assert (submission["verdict"], submission["reward"]) == ("incorrect", 0.0)
    assert "expected 0, found -" in submission["result"]["feedback"]


def test_a_syntax_error(api: httpx.Client) -> None:
    submission = grade(api, "relu_syntax_error")
    assert (submission["verdict"], submission["reward"]) == ("format_violation", 0.0)
    assert "line 15" in submission["result"]["feedback"]


def test_an_endless_loop_and_whoever_comes_next(api: httpx.Client) -> None:
    submission = grade(api, "relu_endless")
    assert (submission["verdict"], submission["stage"], submission["reward"]) == ("timeout", "timeout", 0.0)
    assert grade(api, "relu")["verdict"] == "correct"


def test_the_demo_runs_by_itself() -> None:
    environ = {**os.environ, "PORT": str(free_port()), "KERNEL_ENV_EVALUATOR": "cpu", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "launcher.demo"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ("level1/19_ReLU", "incorrect", "feedback", "speedup", "reward"):
        assert said in done.stdout


def test_the_demo_brings_the_key_that_a_server_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNEL_GRADER_KEY", "kg_one_two")
    with connect("http://127.0.0.1:9") as client:
        assert client.headers["Authorization"] == "Bearer kg_one_two"


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_bodies_hold_what_the_kernels_say(kernel: Path) -> None:
    body = json.loads(kernel.with_suffix(".json").read_text())
    assert body["code"] == kernel.read_text(), "run `python examples/make_requests.py`"
