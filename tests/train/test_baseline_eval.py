"""Evaluations of scripted models through real graders: what is asked, kept, gone on with and summed up."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kernel_grader_client import KernelGrader
from typer.testing import CliRunner, Result

from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer
from tests.services.installation import TASK, source
from tests.train.scripted_model import Said, scripted_model
from train.baseline_eval.__main__ import cli
from train.baseline_eval.local import Local
from train.baseline_eval.models import Sampling
from train.plays import Opening, Play
from train.recording import read_file
from train.records import EpisodeRecord
from train.tiny.fragments import START, TEMPLATE, fragment_tokenizer
from train.tiny.model import random_policy


def fenced(code: str) -> str:
    return f"<think>\nclass ModelNew: no\n</think>\nHere it is:\n\n```python\n{code}```\n"


def evaluated(server: OwnServer, monkeypatch: pytest.MonkeyPatch, url: str, out: Path, *options: str) -> Result:
    """Run the command line with a model called `scripted`."""
    monkeypatch.setenv("KERNEL_GRADER_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("NO_PROXY", "*")
    return CliRunner().invoke(
        cli, ["run", "--model", "scripted", "--endpoint", url, "--out", str(out), *options], catch_exceptions=False
    )


def episodes(out: Path) -> list[EpisodeRecord]:
    return list(read_file(out / "rollouts-rank0.jsonl"))


def test_feedback_of_a_real_grade_reaches_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An identity, then what the feedback asks for; graded on the CPU."""
    wrong, right = ((REPOSITORY / "examples" / f"{name}.py").read_text() for name in ("relu_identity", "relu"))

    def script(body: dict[str, Any]) -> Said:
        told = body["messages"][-1]["content"]
        return Said(fenced(right if "elements" in told and "are wrong" in told else wrong))

    with OwnServer(KERNEL_ENV_EVALUATOR="cpu") as server, scripted_model(script) as model:
        options = ("--split", "train", "--task", TASK, "--max-turns", "2", "--max-tokens", "99", "--seed", "5")
        done = evaluated(server, monkeypatch, model.url, tmp_path, *options)
    assert done.exit_code == 0, done.output
    (episode,) = episodes(tmp_path)
    assert [turn.verdict for turn in episode.turns] == ["incorrect", "correct"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", episode.time)
    assert (episode.phase, episode.level, episode.best_reward) == ("eval", 1, episode.turns[1].reward)
    first, second = model.asked
    assert (first["model"], first["max_tokens"], first["seed"], second["seed"]) == ("scripted", 99, 6, 7)
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert model.keys == {"Bearer a key"}
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["groups"][-1]["pass_by_turn"] == [0.0, 1.0]
    assert summary["tasks"][0]["best_speedup"] == episode.turns[1].speedup > 0
    assert "1 tasks, 1 samples: pass@1 100.0 %" in done.stdout


def test_an_evaluation_that_was_broken_off_goes_on(
    server: OwnServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The endpoint is busy, then breaks down; nothing that has ended is played again."""
    broken = {"after": 4}

    def script(body: dict[str, Any]) -> Said:
        if len(model.asked) == 2:
            return Said(status=429)  # is asked again
        if broken["after"] < len(model.asked):
            return Said(status=401)  # which no repetition mends
        return Said(fenced(source("correct speedup=2.0")))

    options = ("--level", "3", "--split", "all", "--samples", "2", "--max-turns", "1", "--parallel", "1")
    with scripted_model(script) as model:
        done = evaluated(server, monkeypatch, model.url, tmp_path, *options)
        assert (done.exit_code, len(episodes(tmp_path))) == (1, 3)
        assert "goes on from there" in re.sub(r"\s+", " ", done.output)
        broken["after"] = 1000
        begun = len(model.asked)
        done = evaluated(server, monkeypatch, model.url, tmp_path, *options)
        assert done.exit_code == 0
        played = Counter((each.task_id, each.sample) for each in episodes(tmp_path))
        assert len(model.asked) - begun == len(played) - 3
        assert set(played.values()) == {1}
        assert {sample for _, sample in played} == {0, 1}
        # a third start has nothing to ask; with other settings it is refused
        assert evaluated(server, monkeypatch, model.url, tmp_path, *options).exit_code == 0
        other = evaluated(server, monkeypatch, model.url, tmp_path, *options, "--temperature", "0.1")
        assert (other.exit_code, "temperature was 0.7 and is 0.1" in re.sub(r"\s+", " ", other.output)) == (1, True)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["groups"][0]["name"], summary["groups"][0]["tasks"]) == ("level 3", len(played) // 2)
    assert summary["groups"][0]["pass_at"] == {"1": 1.0, "2": 1.0}
    assert summary["groups"][0]["fast"]["1"] == {"0.5": 1.0, "0.8": 1.0, "1.0": 1.0, "1.5": 1.0, "2.0": 0.0}


def test_a_conversation_that_the_model_has_no_room_for_ends(
    server: OwnServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def script(body: dict[str, Any]) -> Said:
        return Said(status=400) if len(body["messages"]) > 1 else Said("I think", finish="length")

    options = ("--split", "all", "--task", TASK, "--max-turns", "3", "--extra", '{"max_completion_tokens": 7}')
    with scripted_model(script) as model:
        assert evaluated(server, monkeypatch, model.url, tmp_path, *options).exit_code == 0
    (episode,) = episodes(tmp_path)
    (turn,) = episode.turns
    assert (turn.verdict, turn.has_code, turn.truncated, turn.tokens) == ("format_violation", False, True, 2)
    assert "max_tokens" not in model.asked[0]
    assert model.asked[0]["max_completion_tokens"] == 7


def test_the_manuals_commands(server: OwnServer, tmp_path: Path) -> None:
    manual = (REPOSITORY / "docs" / "trainers.md").read_text()
    (commands,) = re.findall(r"^```sh name=baseline\n(.*?)^```$", manual, re.MULTILINE | re.DOTALL)
    answers = iter([source("incorrect", "first"), *(source("correct speedup=1.5", n) for n in range(10_000))])
    with scripted_model(lambda body: Said(fenced(next(answers)))) as model:
        environ = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "KERNEL_GRADER_URL": server.url,
            "MODEL_URL": model.url,
            "NO_PROXY": "*",
        }
        done = subprocess.run(
            ["sh", "-eu", "-c", commands], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=240
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    tasks = len({each.task_id for each in read_file(tmp_path / "runs" / "before" / "rollouts-rank0.jsonl")})
    assert lines[0] == lines[1] == f"{tasks} tasks, {2 * tasks} samples: pass@1 100.0 %, fast_1 100.0 %, reward 0.885"
    assert lines[2].endswith("report.html")


def test_a_model_of_transformers(server: OwnServer, tmp_path: Path) -> None:
    """Random weights; its prompts are read through the chat template, and answers end where it ends them."""
    code = source("correct speedup=4.0")
    tokenizer = fragment_tokenizer([f"```python\n{code}```", "no", "# Turn"])
    tokenizer.save_pretrained(tmp_path)
    random_policy(tokenizer, seed=0).save_pretrained(tmp_path)
    model = Local(str(tmp_path), Sampling(max_tokens=6, seed=1), side_by_side=2)
    with KernelGrader(server.url, trust_env=False) as grader:
        state = grader.episode(TASK).state
    plays = [Play.begin(Opening(TASK, sample=sample), state) for sample in range(8)]
    answers = model.answers(plays)
    assert answers == model.answers(plays)  # drawn by the seed
    assert all(answer is not None and 0 < answer.tokens <= 6 for answer in answers)
    assert {answer.truncated for answer in answers if answer} == {True, False}
    written = [answer for answer in answers if answer is not None and "ModelNew" in answer.text]
    assert written
    assert all(code in answer.text for answer in written)
    assert not any(START in answer.text for answer in answers if answer)
    assert {answer.opened for answer in answers if answer} == {""}


def test_a_model_whose_template_begins_a_thought(server: OwnServer, tmp_path: Path) -> None:
    """Whatever its markup: a source that stands in a thought is not the answer."""
    block = f"```python\n{source('correct')}```\n"
    begins = TEMPLATE.replace("assistant\n' }}{% endif %}", "assistant\n<thinking>\n' }}{% endif %}")
    tokenizer = fragment_tokenizer([block, "</thinking>\n"], begins)
    tokenizer.save_pretrained(tmp_path)
    random_policy(tokenizer, seed=0).save_pretrained(tmp_path)
    with KernelGrader(server.url, trust_env=False) as grader:
        state = grader.episode(TASK).state
    plays = [Play.begin(Opening(TASK, sample=sample), state) for sample in range(32)]
    answers = [each for each in Local(str(tmp_path), Sampling(max_tokens=6, seed=1)).answers(plays) if each]
    assert {answer.opened for answer in answers} == {"<thinking>"}
    thought = [answer for answer in answers if block in answer.text and "</thinking>" not in answer.text]
    ended = [answer for answer in answers if "</thinking>" in answer.text]
    said = [answer for answer in ended if block in answer.text.rpartition("</thinking>\n")[2]]
    assert thought
    assert said
    assert {answer.code for answer in thought} == {None}
    assert all("ModelNew" in (answer.code or "") for answer in said)
