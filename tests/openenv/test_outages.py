"""A grader that is away for a while costs no grade, and no late answer is sent."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launcher.broker import free_port
from launcher.demo_server import OwnServer
from tests.openenv.conftest import door, installed
from tests.openenv.environments import environ
from tests.services.installation import source

pytestmark = pytest.mark.timeout(1800)
PROGRAMS = Path(__file__).parent / "outages.py"


def play(grader: OwnServer, name: str, url: str, **given: Any) -> Any:
    command = [str(installed("openenv")), str(PROGRAMS), name, url, json.dumps(given)]
    done = subprocess.run(command, env=environ(grader.url), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_grader_that_is_away_costs_no_grade(grader: OwnServer) -> None:
    port = free_port()
    with door(grader, "openenv", KERNEL_GRADER_URL=f"http://127.0.0.1:{port}") as url:
        code = source("correct speedup=4.0 eval_s=5", "outage")
        away, told, state = play(grader, "outage", url, port=port, grader_port=grader.port, code=code)
    assert (away["outcome"], away["reward"], away["turn"]) == ("unavailable", None, 1)
    assert (told["outcome"], told["reward"], told["graded_turn"]) == ("graded", pytest.approx(2.3), 1)
    assert len(state["history"]) == 1


def test_an_answer_that_nobody_waits_for_is_not_sent(grader: OwnServer) -> None:
    assert play(grader, "late", "") == ["0.1", "1", "0.2", True]
