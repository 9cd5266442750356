"""What is repeated, what is not, and under which key: against a server that misbehaves by script."""

import asyncio
import time

import pytest
from kernel_grader_client import AsyncKernelGrader, Item, KernelGrader, KernelGraderError, Refused, Unavailable
from kernel_grader_client.steps import Call
from kernel_grader_client.wire import arguments

from tests.client.conftest import Answer, Scripted, problem

SUBMISSION = {
    "id": "sub_1", "status": "completed", "verdict": "correct", "stage": "ok", "reward": 1.3,
    "task_id": "level1/19_ReLU", "language": "triton", "episode_id": None, "turn": None, "attempt": 1, "phase": None,
    "priority": "normal", "gpu": None, "run_id": None, "batch_id": None, "custom_id": None, "labels": {},
    "code_sha": "0" * 12, "deduped_from": None, "regrade_of": None, "queue": None, "error": None, "result": None,
    "environment": None, "timings": {}, "created_at": "2026-01-31T12:00:00.000Z", "started_at": None,
    "finished_at": None, "deadline_at": "2026-01-31T13:00:00.000Z",
}  # fmt: skip
WAITING = {**SUBMISSION, "status": "queued", "verdict": None, "stage": None, "reward": None}
DONE = Answer(200, SUBMISSION)
BROKEN = Answer(0)


def grader(scripted: Scripted, **options: float) -> KernelGrader:
    return KernelGrader(scripted.url, trust_env=False, **options)


def test_a_post_is_repeated_under_its_key_until_it_is_answered(scripted: Scripted) -> None:
    scripted.answers = [
        BROKEN,
        problem(503, "unavailable", retryable=True, Retry_After="0"),
        Answer(502, None, {"Content-Type": "text/html"}),
        Answer(202, WAITING),
    ]
    with grader(scripted) as client:
        assert client.submit("x", task_id="level1/19_ReLU").status == "queued"
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in scripted.seen}
    assert len(scripted.seen) == 4
    assert len(keys) == 1


def test_every_create_has_a_key_of_its_own(scripted: Scripted) -> None:
    scripted.answers = [Answer(202, WAITING), Answer(202, WAITING)]
    with grader(scripted) as client:
        client.submit("x", task_id="level1/19_ReLU")
        client.submit("x", task_id="level1/19_ReLU")
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in scripted.seen}) == 2


def test_each_try_of_a_grade_has_a_key_of_its_own(scripted: Scripted) -> None:
    error = {"code": "worker_lost", "title": "t", "detail": "d", "retryable": True}
    scripted.answers = [Answer(200, {**WAITING, "status": "failed", "error": error}), DONE]
    with grader(scripted) as client:
        assert client.grade("x", task_id="level1/19_ReLU", tries=2).correct
    first, second = (headers["Idempotency-Key"] for _, _, headers, _ in scripted.seen)
    assert first.removesuffix("-1") == second.removesuffix("-2")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 415, 422, 500])
def test_what_the_server_does_not_call_retryable_is_sent_once(scripted: Scripted, status: int) -> None:
    scripted.answers = [problem(status, "some_code", retryable=False)]
    with grader(scripted) as client, pytest.raises(Refused) as raised:
        client.submit("x", task_id="level1/19_ReLU")
    assert raised.value.code == "some_code"
    assert len(scripted.seen) == 1


def test_retry_after_is_kept_to(scripted: Scripted) -> None:
    scripted.answers = [problem(429, "rate_limited", retryable=True, Retry_After="1"), DONE]
    started = time.monotonic()
    with grader(scripted) as client:
        client.submission("sub_1")
    assert time.monotonic() - started >= 1.0


def test_patience_ends(scripted: Scripted) -> None:
    scripted.answers = [problem(503, "unavailable", retryable=True, Retry_After="3600")]
    with grader(scripted, patience_s=2) as client, pytest.raises(Unavailable):
        client.submission("sub_1")
    assert len(scripted.seen) == 1


def test_waits_outlast_the_servers(scripted: Scripted) -> None:
    scripted.answers = [Answer(200, WAITING, {"Retry-After": "0.1"}), Answer(200, WAITING), DONE]
    with grader(scripted) as client:
        assert client.wait("sub_1").correct
    assert [path for _, path, _, _ in scripted.seen] == ["/submissions/sub_1?wait=60.000"] * 3


def test_no_time_out_is_quicker_than_the_wait_that_was_asked_for() -> None:
    for wait_s in (0.0, 1.0, 60.0):
        assert arguments(Call("GET", "/submissions/sub_1", wait_s=wait_s))["timeout"].read >= wait_s + 10


def test_items_that_there_was_no_room_for_are_sent_again(scripted: Scripted) -> None:
    full = {"status": 429, "code": "too_many_in_flight", "title": "t", "detail": "d", "retryable": True, "errors": []}
    scripted.answers = [
        Answer(202, {"id": "bat_1"}),
        Answer(200, {"data": [{"custom_id": "b", "submission": None, "problem": full}], "next_cursor": "1"}),
        Answer(200, {"data": [{"custom_id": "a", "submission": SUBMISSION, "problem": None}], "next_cursor": None}),
        Answer(202, {"id": "bat_2"}),
        Answer(200, {"data": [{"custom_id": "b", "submission": SUBMISSION, "problem": None}], "next_cursor": None}),
    ]
    with grader(scripted) as client:
        ended = list(client.submit_many([Item("a", "x", task_id="t"), Item("b", "y", task_id="t")]))
    assert [one.custom_id for one in ended] == ["a", "b"]
    bodies = [body for method, _, _, body in scripted.seen if method == "POST"]
    assert [[item["custom_id"] for item in body["items"]] for body in bodies] == [["a", "b"], ["b"]]


@pytest.mark.parametrize("kind", [KernelGrader, AsyncKernelGrader])
@pytest.mark.parametrize("url", ["localhost:8000", "ftp://there", "127.0.0.1"])
def test_what_is_no_url_is_refused_at_once(kind: type, url: str) -> None:
    with pytest.raises(KernelGraderError, match="http://HOST:PORT"):
        kind(url)


def test_two_items_of_one_name_are_refused_before_anything_is_sent(scripted: Scripted) -> None:
    with grader(scripted) as client, pytest.raises(ValueError, match="same custom_id: a"):
        list(client.submit_many([Item("a", "x", task_id="t"), Item("a", "y", task_id="t")]))
    assert not scripted.seen


def test_an_answer_that_is_no_answer_is_an_error_of_its_own(scripted: Scripted) -> None:
    scripted.answers = [Answer(418, {"tea": True})]
    with grader(scripted) as client, pytest.raises(KernelGraderError):
        client.meta()


def test_coroutines_repeat_alike(scripted: Scripted) -> None:
    scripted.answers = [BROKEN, problem(503, "unavailable", retryable=True, Retry_After="0"), DONE]

    async def wait() -> bool:
        async with AsyncKernelGrader(scripted.url, trust_env=False) as client:
            return (await client.wait("sub_1")).correct

    assert asyncio.run(wait())
