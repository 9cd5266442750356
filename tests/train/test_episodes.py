"""Many episodes against a real server: a batch a turn, prompts that follow verdicts, no zero for our own faults."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from kernel_grader_client import KernelGrader, Refused

from launcher.demo_server import OwnServer
from tests.services.installation import TASK, source
from train.episodes import Episodes
from train.plays import Answer, Opening, Play, record_of, suspicious_of
from train.records import Stamp
from train.tasks import TaskFileError, training_stages

STAMP = Stamp("2026-01-01T00:00:00Z", "session", 0, 0, "train", "run")


@pytest.fixture
def grader(server: OwnServer) -> Iterator[KernelGrader]:
    with KernelGrader(server.url, trust_env=False) as made:
        yield made


def fenced(directive: str, salt: object = "") -> Answer:
    return Answer(f"```python\n{source(directive, salt)}```\n", tokens=5)


def test_turns_of_many_episodes_are_a_batch_each(grader: KernelGrader) -> None:
    ended: list[Play] = []
    prompts: list[list[str]] = []

    def policy(plays: Sequence[Play]) -> list[Answer]:
        prompts.append([play.prompt for play in plays])
        first = [Answer("I cannot.", 2), fenced("incorrect"), fenced("correct speedup=2.0")]
        return first if plays[0].turn == 1 else [fenced("correct speedup=4.0", play.opening.sample) for play in plays]

    openings = [Opening(TASK, max_turns=2, sample=sample) for sample in range(3)]
    plays = Episodes(grader, run_id="turns", on_ended=ended.append).play(openings, policy)
    assert [play.rewards for play in plays] == [[0.0, pytest.approx(2.3)]] * 2 + [pytest.approx([1.3, 2.3])]
    assert [play.turns[0].verdict for play in plays] == ["format_violation", "incorrect", "correct"]
    assert all("ModelNew" in prompt for prompt in prompts[0])
    assert "was refused" in prompts[1][0]
    assert "computes a wrong result" in prompts[1][1]
    assert len(ended) == 6
    batches = [item.raw["batch_id"] for item in grader.submissions(run_id="turns")]
    assert sorted(batches.count(batch) for batch in set(batches)) == [3, 3]
    record = record_of(plays[0], STAMP, 2.3)
    assert (record.level, record.best_reward, record.completion_tokens) == (1, pytest.approx(2.3), 7)
    assert (record.turns[0].rules, record.turns[0].has_code) == (("no-kernel", "no-model-new"), False)


def test_what_cannot_be_graded_has_no_reward_and_ends_the_episode(grader: KernelGrader) -> None:
    episodes = Episodes(grader, run_id="never", gpu="a-kind-that-nobody-has", deadline_s=1.0, tries=2)
    (play,) = episodes.play([Opening(TASK, max_turns=3)], lambda plays: [fenced("correct")])
    assert play.rewards is None
    assert [(turn.reward, turn.verdict) for turn in play.turns] == [(None, None)]
    assert play.turns[0].failed
    assert record_of(play, STAMP, None).failed


def test_a_source_that_is_too_large_fails_alone(grader: KernelGrader) -> None:
    large = Answer(f"```python\n{source()}\n# {'x' * 300_000}\n```")
    plays = Episodes(grader).play([Opening(TASK, max_turns=1)] * 2, lambda plays: [large, fenced("incorrect")])
    assert [play.rewards for play in plays] == [None, [0.0]]
    assert plays[0].turns[0].failed == "the source is too large"


def test_a_mistake_in_the_set_up_is_raised(grader: KernelGrader) -> None:
    with pytest.raises(Refused, match="level9/none"):
        Episodes(grader).open([Opening("level9/none")])


def test_suspicious_turns_are_set_aside_with_their_code(grader: KernelGrader) -> None:
    cheat = Answer(f"```python\nimport subprocess\n{source()}\nsubprocess.run('x')\n```")
    answers = [cheat, fenced("rejected_timing"), fenced("incorrect")]
    plays = Episodes(grader).play([Opening(TASK, max_turns=1)] * 3, lambda plays: answers)
    found = [one for play in plays for one in suspicious_of(play, STAMP)]
    assert [one["episode_id"] for one in found] == [plays[0].state.id, plays[1].state.id]
    assert found[0]["rules"]
    assert "subprocess.run" in found[0]["code"]


def test_thoughts_that_the_prompt_opened_do_not_count() -> None:
    unfinished = Answer(source(), opened="<think>\n")
    assert unfinished.code is None
    assert Answer(f"</think>\n{source()}", opened="<think>\n").code == source().strip() + "\n"


def test_held_out_tasks_are_refused(grader: KernelGrader, tmp_path: Path) -> None:
    path = tmp_path / "tasks.txt"
    held_out = next(task.id for task in grader.tasks(split="eval"))
    path.write_text(f"{TASK}  # first\n{held_out}\nlevel9/none\n")
    with pytest.raises(TaskFileError) as raised:
        training_stages(path, grader)
    assert f"{held_out} are held out" in str(raised.value)
    assert "level9/none are not in the server's catalogue" in str(raised.value)
    path.write_text(f"# nothing but\n{TASK}\n")
    assert [stage.task_ids for stage in training_stages(path, grader)] == [(TASK,)]
    shipped = Path("evaluator/tasks/curricula/first_steps.json")
    assert [stage.name for stage in training_stages(shipped, grader)][:1] == ["elementwise"]
    for text in ("", "{", '{"stages": 3}', '{"stages": [{"task_ids": "x"}]}'):
        path.write_text(text)
        with pytest.raises(TaskFileError, match=r"tasks\.txt: "):
            training_stages(path, grader)
