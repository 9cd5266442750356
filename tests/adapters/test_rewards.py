"""The adapters against a real server: right rewards in order, one batch a step, and None where nothing was graded."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kernel_grader_client import KernelGrader, NotGraded, Refused
from kernel_grader_client.adapters import KernelReward, verifiers, verl

from launcher.demo_server import OwnServer
from tests.services.installation import TASK, source

SPEEDUPS = [1.0, 2.0, 4.0]
REWARDS = [0.3, 1.3, 2.3]
# nobody has this GPU, so the deadline comes first
NEVER = {"gpu": "a-kind-that-nobody-has", "deadline_s": 1.0, "tries": 1}


def answer(speedup: float, salt: object = "") -> str:
    return f"<think>x</think>\n```python\n{source(f'correct speedup={speedup}', salt)}```\n"


ANSWERS = [answer(speedup) for speedup in SPEEDUPS]


@pytest.fixture
def grader(server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelGrader]:
    monkeypatch.setenv("KERNEL_GRADER_URL", server.url)
    with KernelGrader(on_failure="none") as made:
        yield made
    if verl._grader.cache_info().currsize:
        verl._grader().close()
        verl._grader.cache_clear()


def test_a_plain_reward_function(grader: KernelGrader) -> None:
    reward = KernelReward(grader, run_id="plain")
    completions = [*ANSWERS, "no code at all", "```python\ndef forward(:\n```"]
    tasks = [TASK] * len(completions)
    found = reward(completions=completions, prompts=["p"] * len(tasks), task_id=tasks, level=[1] * len(tasks))
    assert found == pytest.approx([*REWARDS, 0.0, 0.0])
    verdicts = grader.run("plain").verdicts
    assert (verdicts["correct"], verdicts["format_violation"]) == (3, 2)
    batches = {item.raw["batch_id"] for item in grader.submissions(run_id="plain")}
    assert len(batches) == 1
    assert None not in batches


def test_messages_are_completions_too(grader: KernelGrader) -> None:
    chat: list[Any] = [
        [{"role": "assistant", "content": ANSWERS[0]}],
        [SimpleNamespace(role="assistant", content=ANSWERS[1]), SimpleNamespace(role="user", content="thanks")],
        [{"role": "assistant", "content": [{"type": "text", "text": ANSWERS[2]}]}],
    ]
    assert KernelReward(grader, task_id=TASK)(chat) == pytest.approx(REWARDS)


def test_what_could_not_be_graded_is_none(grader: KernelGrader) -> None:
    assert KernelReward(grader, task_id=TASK, **NEVER)(ANSWERS[:1]) == [None]


def test_a_mistake_in_the_set_up_is_no_reward(grader: KernelGrader) -> None:
    with pytest.raises(Refused, match="level9/none"):
        KernelReward(grader, task_id="level9/none")(ANSWERS)
    with pytest.raises(ValueError, match="column task_id"):
        KernelReward(grader)(ANSWERS)
    with pytest.raises(ValueError, match="3 completions, but 2"):
        KernelReward(grader)(ANSWERS, task_id=[TASK, TASK])


def test_a_source_that_is_too_large_has_no_reward(grader: KernelGrader) -> None:
    large = f"```python\n{source()}\n# {'x' * 300_000}\n```"
    assert KernelReward(grader, task_id=TASK)([large, ANSWERS[1]]) == [None, pytest.approx(1.3)]


def test_verl(grader: KernelGrader) -> None:
    found = verl.compute_scores(["kernels"] * 3, ANSWERS, [None] * 3, [{"task_id": TASK}] * 3)
    assert found == pytest.approx(REWARDS)
    assert verl.compute_score("kernels", ANSWERS[1], TASK, {}) == pytest.approx(1.3)
    named = {"data_source": "kernels", "solution_str": ANSWERS[2], "ground_truth": None}
    assert verl.compute_score(**named, extra_info={"task_id": TASK}) == pytest.approx(2.3)
    with pytest.raises(NotGraded):
        verl.compute_score("kernels", ANSWERS[1], TASK, {}, **NEVER)
    with pytest.raises(ValueError, match="task_id"):
        verl.compute_score("kernels", ANSWERS[1], None, None)


def test_a_group_of_verifiers(grader: KernelGrader) -> None:
    slow = f"```python\n{source('correct speedup=8.0 eval_s=90')}```"
    group = [ANSWERS[0], ANSWERS[2], slow]
    states: list[dict[str, Any]] = [{} for _ in group]
    reward = verifiers.GroupReward(grader, deadline_s=15.0, tries=1)
    found = asyncio.run(reward(group, states, infos=[{"task_id": TASK}] * 3, answers=[""] * 3))
    assert found == pytest.approx([0.3, 2.3, 1.3])
    assert [state["kernel_graded"] for state in states] == [True, True, False]
    assert [state["kernel_verdict"] for state in states] == ["correct", "correct", None]


def test_one_rollout_of_verifiers(grader: KernelGrader) -> None:
    assert asyncio.run(verifiers.reward(grader, ANSWERS[1], TASK)) == pytest.approx(1.3)
    with pytest.raises(NotGraded):
        asyncio.run(verifiers.reward(grader, ANSWERS[1], TASK, **NEVER))
