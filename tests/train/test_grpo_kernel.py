"""The command line: it trains, goes on from its checkpoint, evaluates, and says what is wrong with what it is given."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from kernel_grader_client import KernelGrader

from launcher.demo_server import OwnServer
from tests.services.installation import TASK, source
from train import grpo_kernel
from train.recording import read_run, read_suspicious
from train.schedule import rows
from train.tasks import Stage
from train.tiny.fragments import fragment_tokenizer
from train.tiny.model import random_policy

pytestmark = pytest.mark.usefixtures("one_thread")

OTHER = "level1/21_Sigmoid"
PROGRAMS = [f"```python\n{source(f'correct speedup={1 + n}')}```\n" for n in range(4)]
CHEAT = f"```python\nimport subprocess\n{source()}\nsubprocess.run('x')\n```\n"
SETTINGS = """
    --updates 1 --tasks_per_update 2 --generations 4 --micro_batch 4 --max_turns 1 --turn_tokens 2 --save_every 1
    --eval_generations 2 --use_cpu true --gradient_checkpointing false
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model and a file of tasks."""
    made = tmp_path_factory.mktemp("grpo")
    tokenizer = fragment_tokenizer([*PROGRAMS, CHEAT])
    tokenizer.save_pretrained(made / "model")
    random_policy(tokenizer, seed=0, width=32).save_pretrained(made / "model")
    (made / "tasks.txt").write_text(f"{TASK}\n{OTHER}\n")
    return made


def run(monkeypatch: pytest.MonkeyPatch, server: OwnServer, folder: Path, *more: str) -> None:
    monkeypatch.setenv("KERNEL_GRADER_URL", server.url)
    monkeypatch.setenv("NO_PROXY", "*")
    given = ["--model", str(folder / "model"), "--tasks", str(folder / "tasks.txt"), "--output", str(folder / "out")]
    monkeypatch.setattr(sys, "argv", ["grpo_kernel", *given, *SETTINGS.split(), *more])
    grpo_kernel.main()


def test_a_run_goes_on_from_its_checkpoint(
    monkeypatch: pytest.MonkeyPatch, server: OwnServer, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "eval.txt").write_text(f"{TASK}\n")
    run(monkeypatch, server, folder, "--eval_tasks", str(folder / "eval.txt"))
    run(monkeypatch, server, folder, "--updates", "2")
    records = read_run(folder / "out")
    seen = Counter((record.phase, record.step, record.task_id) for record in records)
    assert seen == {
        ("eval", 0, TASK): 2,
        ("eval", 1, TASK): 2,
        **{("train", step, task): 4 for step in (0, 1) for task in (TASK, OTHER)},
    }
    assert len({record.session for record in records}) == 2
    assert {record.sample for record in records if record.phase == "train"} == set(range(4))
    history = json.loads((folder / "out" / "checkpoint-2" / "trainer_state.json").read_text())["log_history"]
    last = [line for line in history if "kernel/correct" in line][-1]
    graded = [record for record in records if (record.phase, record.step) == ("train", 1)]
    assert last["kernel/correct"] == pytest.approx(sum(record.correct for record in graded) / len(graded))
    assert last["kernel/turns"] == 1
    assert "update 2 of 2: return " in capfd.readouterr().err
    cheats = [turn for record in records for turn in record.turns if "process" in "".join(turn.rules)]
    assert len(read_suspicious(folder / "out")) == len(cheats)
    with KernelGrader(server.url, trust_env=False) as grader:
        assert grader.run("out").episodes["finished"] == len(records)
    with pytest.raises(SystemExit, match="seed was 0 and is 1"):
        run(monkeypatch, server, folder, "--seed", "1")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--tasks", "TASKS"], "held out"),
        (["--micro_batch", "3"], "must be divisible by micro_batch"),
        (["--turn_tokens", "0"], "turn_tokens: at least 1, not 0"),
        (["--context_tokens", "2"], "context_tokens 2: lower the one or raise the other"),
        (["--context_tokens", "6"], "its prompt has . tokens"),
        (["--discount", "2"], "discount: from 0 to 1, not 2"),
        (["--template", "[]"], "template: a JSON object"),
        (["--tasks", "nowhere"], "nowhere: cannot be read"),
        (["--url", "nowhere"], "http://HOST:PORT"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, server: OwnServer, folder: Path, tmp_path: Path, given: list[str], told: str
) -> None:
    held_out = tmp_path / "held_out.txt"
    with KernelGrader(server.url, trust_env=False) as grader:
        held_out.write_text(next(task.id for task in grader.tasks(split="eval")))
    more = [str(held_out) if word == "TASKS" else word for word in given]
    with pytest.raises(SystemExit, match=f"grpo_kernel: .*{told}"):
        run(monkeypatch, server, folder, "--output", str(tmp_path / "out"), *more)


def test_stages_come_one_after_another() -> None:
    stages = [Stage("a", ("1", "2", "3")), Stage("b", ("4",))]
    found = rows(stages, updates=5, tasks_per_update=3, seed=1)
    assert sorted(found[:6]) == sorted(["1", "2", "3"] * 2)
    assert found[6:] == ["4"] * 9
    assert rows(stages, 5, 3, 1) == found
    assert rows(stages[:1], 4, 3, 1)[:6] == rows(stages[:1], 2, 3, 1)
