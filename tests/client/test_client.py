"""Both clients against a real server: episodes, submissions, batches, runs, lists, refusals."""

import asyncio
from collections.abc import Iterator

import pytest
from kernel_grader_client import (
    AsyncKernelGrader,
    Conflict,
    Ended,
    Item,
    KernelGrader,
    NotFound,
    NotGraded,
    Refused,
    Unavailable,
)
from kernel_grader_client.wire import options

from launcher.demo_server import OwnServer
from launcher.ports import free_port
from tests.app.test_episodes import TASK, source


@pytest.fixture(scope="module")
def grader(server: OwnServer) -> Iterator[KernelGrader]:
    with KernelGrader(server.url, trust_env=False) as made:
        yield made


def test_an_episode_from_prompt_to_reward(grader: KernelGrader) -> None:
    episode = grader.episode(TASK, max_turns=2, run_id="client-episode", labels={"step": "1"})
    assert TASK in episode.problem
    wrong = episode.step(source("incorrect"))
    assert (wrong.verdict, wrong.reward, wrong.correct, episode.state.turn) == ("incorrect", 0.0, False, 2)
    assert wrong.feedback
    right = episode.step(source("correct speedup=2.0"))
    assert (right.verdict, right.reward, right.speedup, episode.done) == ("correct", 1.3, 2.0, True)
    assert [turn.verdict for turn in episode.state.history] == ["incorrect", "correct"]
    assert episode.state.best_speedup == 2.0
    with pytest.raises(Conflict) as raised:
        episode.step(source("correct"))
    assert raised.value.code == "episode_finished"
    assert grader.resume(episode.id).state == episode.state
    assert [row.id for row in grader.episodes(run_id="client-episode")] == [episode.id]


def test_without_a_verdict_there_is_an_exception_or_no_reward_but_never_zero(server: OwnServer) -> None:
    fault = source("fault code=internal_error")
    with KernelGrader(server.url, trust_env=False) as raising:
        episode = raising.episode(TASK)
        with pytest.raises(NotGraded) as raised:
            episode.step(fault)
        assert raised.value.submission.reward is None
        assert raised.value.retryable is True
        assert episode.state.turn == 1
    with KernelGrader(server.url, on_failure="none", trust_env=False) as telling:
        ended = telling.grade(fault, task_id=TASK)
        assert (ended.finished, ended.graded, ended.reward) == (True, False, None)
        assert ended.failure is not None
        assert ended.failure.code == "internal_error"


def test_what_was_not_graded_is_sent_again_under_another_key(grader: KernelGrader) -> None:
    with pytest.raises(NotGraded):
        grader.grade(source("fault code=internal_error"), task_id=TASK, tries=2, run_id="client-tries")
    assert [row.status for row in grader.submissions(run_id="client-tries")] == ["failed", "failed"]


def test_many_at_once_each_delivered_once_as_they_end(grader: KernelGrader) -> None:
    mocks = {"good": "correct", "bad": "incorrect", "lost": "fault code=internal_error"}
    items = [Item(name, source(mock), task_id=TASK) for name, mock in mocks.items()]
    items.append(Item("refused", "x", task_id="level1/99999_Nothing"))
    ended = {one.custom_id: one for one in grader.submit_many(items, run_id="client-many")}
    assert ended.keys() == {"good", "bad", "lost", "refused"}
    assert (ended["good"].verdict, ended["bad"].reward, ended["lost"].reward) == ("correct", 0.0, None)
    with pytest.raises(NotGraded):
        ended["lost"].require_verdict()
    with pytest.raises(Refused) as raised:
        ended["refused"].require_verdict()
    assert (raised.value.code, ended["refused"].reward) == ("unknown_task", None)
    assert grader.run("client-many").submissions["completed"] == 2


def test_more_than_a_batch_takes(server: OwnServer) -> None:
    tasks = [TASK] * 5 + ["level1/99999_Nothing"] * 290 + [TASK] * 5

    async def send() -> list[Ended]:
        items = [Item(str(number), "def broken(:\n", task_id=task) for number, task in enumerate(tasks)]
        async with AsyncKernelGrader(server.url, trust_env=False) as grader:
            return [ended async for ended in grader.submit_many(items)]

    ended = asyncio.run(send())
    assert sorted(int(one.custom_id) for one in ended) == list(range(300))
    assert [one.verdict for one in ended].count("format_violation") == 10


def test_waiting_and_cancelling(grader: KernelGrader) -> None:
    submission = grader.submit(source("correct eval_s=60"), task_id=TASK, run_id="client-cancel")
    assert not grader.wait(submission, timeout_s=0.2).finished
    assert grader.cancel_run("client-cancel") == 1
    with pytest.raises(NotGraded):
        grader.wait(submission)
    assert grader.submission(submission.id).failure is not None
    assert grader.cancel(submission).status == "cancelled"


def test_what_there_is_comes_as_records(grader: KernelGrader) -> None:
    code = source("correct speedup=3.0")
    submission = grader.grade(code, task_id=TASK, run_id="client-rest")
    assert grader.code(submission) == code
    assert submission.feedback in grader.log(submission.id)
    assert submission.result is not None
    assert (submission.result.speedup, submission.result.correct) == (3.0, True)
    assert [attempt.outcome for attempt in grader.attempts(submission)] == ["verdict"]
    leader = grader.leaderboard(TASK, run_id="client-rest")[0]
    assert (leader.rank, leader.submission_id, leader.speedup) == (1, submission.id, 3.0)
    assert TASK in [task.id for task in grader.tasks(level=1, limit=3)]
    assert "class Model" in grader.task(TASK).source
    assert grader.queue().slots == 1
    assert grader.workers()[0].evaluator == "mock"
    meta = grader.meta()
    assert (meta.evaluator, meta.clocks["wait_max_s"]) == ("mock", 60)
    assert grader.alive()
    assert [row["type"] for row in grader.export("client-rest")] == ["run", "submission"]


def test_one_more_grade_and_another_reward(grader: KernelGrader) -> None:
    wrong = grader.grade(source("incorrect"), task_id=TASK)
    assert (wrong.reward, grader.reward(wrong), grader.reward(wrong, partial_credit=True)) == (0.0, 0.0, 0.05)
    again = grader.wait(grader.regrade(wrong))
    assert (again.verdict, again.raw["regrade_of"]) == ("incorrect", wrong.id)
    ids = [row.id for row in grader.submissions(ids=[wrong.id, again.id], status=["completed", "failed"])]
    assert ids == [again.id, wrong.id]


def test_a_batch_is_drained_by_another_program(server: OwnServer, grader: KernelGrader) -> None:
    items = [Item(str(number), source("incorrect"), task_id=TASK) for number in range(5)]
    batch_id = grader.create_batch(items)
    with KernelGrader(server.url, trust_env=False) as other:
        assert sorted(ended.custom_id for ended in other.drain(batch_id)) == list("01234")
        assert [ended.verdict for ended in other.drain(batch_id)] == ["incorrect"] * 5


def test_a_step_for_who_keeps_the_id_alone(grader: KernelGrader) -> None:
    episode = grader.episode(split="train", seed=3, max_turns=1)
    assert grader.step(episode.id, source("incorrect")).turn == 1
    assert episode.refresh().done


def test_url_and_key_come_from_the_environment(server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNEL_GRADER_URL", server.url)
    monkeypatch.setenv("KERNEL_GRADER_KEY", "kg_of_the_environment")
    assert options(None, None)["headers"]["Authorization"] == "Bearer kg_of_the_environment"
    assert options("http://elsewhere/", "kg_mine")["base_url"] == "http://elsewhere"
    with KernelGrader(trust_env=False) as made:
        assert made.alive()


def test_refusals_are_exceptions_with_the_servers_words(grader: KernelGrader) -> None:
    with pytest.raises(NotFound):
        grader.wait("sub_nothing")
    with pytest.raises(Refused) as raised:
        grader.submit("x", task_id=TASK, priority="urgent", turn=1)  # type: ignore[arg-type]
    assert {pointer for pointer, _ in raised.value.problem.errors} >= {"#/priority"}
    assert "#/priority" in str(raised.value)


def test_a_server_that_is_not_there_is_unavailable_once_patience_ends() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with KernelGrader(url, patience_s=0.5, trust_env=False) as grader, pytest.raises(Unavailable):
        grader.meta()


def test_the_same_with_coroutines(server: OwnServer) -> None:
    async def play() -> None:
        async with AsyncKernelGrader(server.url, on_failure="none", trust_env=False) as grader:
            episodes = await asyncio.gather(*(grader.episode(TASK, run_id="client-async") for _ in range(4)))
            graded = await asyncio.gather(*(episode.step(source("correct speedup=2.0")) for episode in episodes))
            assert [one.reward for one in graded] == [1.3] * 4
            assert all(episode.state.turn == 2 for episode in episodes)
            lost = await episodes[0].step(source("fault code=internal_error"))
            assert lost.reward is None
            assert (await episodes[0].cancel()).status == "cancelled"
            assert len([row async for row in grader.submissions(run_id="client-async", limit=2)]) == 5
            assert len([row async for row in grader.episodes(run_id="client-async")]) == 4
            assert (await grader.resume(episodes[0].id)).done
            assert (await grader.run("client-async")).episodes["cancelled"] == 1
            waiting = await grader.submit(source("correct eval_s=60"), task_id=TASK, run_id="client-async")
            assert await grader.cancel_run("client-async") == 1
            assert (await grader.wait(waiting)).status == "cancelled"
            assert [task.id async for task in grader.tasks(level=1)]
            assert (await grader.leaderboard(TASK, limit=1))[0].rank == 1
            assert next(row["type"] for row in await grader.export("client-async")) == "run"
            wrong = await grader.step((await grader.episode(TASK)).id, source("incorrect"))
            assert (await grader.reward(wrong, partial_credit=True), wrong.reward) == (0.05, 0.0)
            assert [attempt.outcome for attempt in await grader.attempts(wrong)] == ["verdict"]
            again = await grader.wait(await grader.regrade(wrong))
            assert await grader.code(again) == await grader.code(wrong)
            assert wrong.feedback in await grader.log(wrong)
            assert (await grader.submission(wrong.id)) == wrong
            assert "class Model" in (await grader.task(TASK)).source
            assert (await grader.meta()).evaluator == (await grader.workers())[0].evaluator == "mock"
            assert (await grader.queue()).slots == 1
            assert await grader.alive()
            ended = [one async for one in grader.drain(await grader.create_batch([Item("a", "x", task_id=TASK)]))]
            assert [one.custom_id for one in ended] == ["a"]

    asyncio.run(play())
