"""One JSON line per event, to the user's file and to standard output, from the API and the worker alike."""

import json
from pathlib import Path
from typing import Any

from launcher.demo_server import OwnServer
from tests.app.conftest import client
from tests.app.test_episodes import TASK, grade, source
from tests.services.installation import wait_for

OF_HISTORY = (
    "turn", "submission_id", "stage", "verdict", "speedup", "reward", "roofline_frac", "roofline_violation",
    "suspicious", "queue_wait_s", "eval_s", "code_sha", "phases",
)  # fmt: skip
BESIDE = {"max_abs_err", "gpu", "gpu_id", "feedback", "created_at", "started_at", "finished_at"}


MARKER = "a-source-that-nobody-else-may-read"
MARKED = f"\n# {MARKER}\n"
SECRET = "a secret that no log may tell"
ABOUT = ("submission_id", "episode_id", "run_id")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_what_happens_to_an_episode_is_told_line_by_line(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "events.jsonl"
    settings = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_EVAL_LOG": str(log), "KERNEL_ENV_SECRET": SECRET}
    with OwnServer(**settings) as server, client(server.url) as api:
        episode = api.post("/episodes", json={"task_id": TASK, "run_id": "lines", "labels": {"step": "1"}}).json()
        graded = grade(api, episode_id=episode["id"], code=source("correct speedup=2.0") + MARKED)
        lost = api.post("/submissions", json={"task_id": TASK, "code": "x", "gpu": "none-such"}).json()
        api.post(f"/submissions/{lost['id']}/cancel")
        code = source("correct eval_s=60") + MARKED
        ended = api.post("/submissions", json={"episode_id": episode["id"], "code": code}).json()["id"]
        wait_for(lambda: api.get(f"/submissions/{ended}").json()["status"] == "running", 30, "a grade that runs")
        api.post(f"/submissions/{ended}/cancel")
        wait_for(lambda: "verdict_dropped" in logged(server), 30, "the worker to give up")
        wanted = {"reset", "queued", "step", "cancelled"}
        wait_for(lambda: wanted <= {line["event"] for line in lines(log)}, 30, "a line of each")
        history = api.get(f"/episodes/{episode['id']}").json()["history"]
        output = logged(server)
    told = lines(log)
    reset = next(line for line in told if line["event"] == "reset")
    assert (reset["episode_id"], reset["task_id"], reset["labels"]) == (episode["id"], TASK, {"step": "1"})
    (step,) = [line for line in told if line["event"] == "step"]
    assert {name: step[name] for name in OF_HISTORY} == {name: history[0][name] for name in OF_HISTORY}
    assert step.keys() >= BESIDE
    assert graded["result"]["feedback"].startswith(step["feedback"])
    assert [line["submission_id"] for line in told if line["event"] == "cancelled"] == [lost["id"], ended]
    for event in ("reset", "step"):
        assert f'"event": "{event}"' in output, f"standard output has no line of {event}"
    about = [line for line in map(json.loads, filter(is_json, output.splitlines())) if ended in str(line)]
    ours = [line for line in about if not line["logger"].startswith("celery.")]
    assert {line["event"] for line in ours} >= {"queued", "claimed", "started", "claim_lost", "verdict_dropped"}
    for line in ours:
        assert [line.get(name) for name in ABOUT] == [ended, episode["id"], "lines"], line
        assert line["attempt"] >= (0 if line["event"] == "queued" else 1), line
    for text in (output, log.read_text()):
        assert MARKER not in text
        assert SECRET not in text


def logged(server: OwnServer) -> str:
    """What every process of a server has logged."""
    files = (server.data_dir / "logs").glob("*")
    return server.output() + "".join(path.read_text(errors="replace") for path in files)


def is_json(line: str) -> bool:
    return line.startswith("{")
