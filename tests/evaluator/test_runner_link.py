"""The judge's end of a runner, with a hostile one at the other end."""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import Cancelled, GraderFault, SubmissionFault
from evaluator.judge.runner_link import MAX_REPLY_BYTES, CallRequest, RunnerLink, describe_status
from evaluator.verdicts import Verdict

ROOT = Path(__file__).parents[2]
FUZZ_MESSAGES = 100_000
NO_INPUTS = {"kind": "list", "items": []}
KILLED = 9


class Pair:
    """A link and the socket of its peer; `reaped` counts how often the process was killed."""

    def __init__(self, *, trusted: bool = False, interrupt_fd: int | None = None) -> None:
        ours, self.peer = socket.socketpair()
        self.peer.setblocking(False)
        self.reaped = 0
        self.link = RunnerLink(ours, 0, self._reap, trusted=trusted, interrupt_fd=interrupt_fd)

    def _reap(self) -> int:
        self.reaped += 1
        return KILLED

    def answer(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.peer.send(struct.pack("!I", len(body)) + body)  # of what is too long, as much as fits

    def call(self, deadline_s: float = 5) -> Any:
        return self.link.call(CallRequest([NO_INPUTS], [1], "ieee"), deadline_s)


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.link.kill()
    made.peer.close()


def fault_of(ask: Callable[[], Any]) -> SubmissionFault:
    with pytest.raises(SubmissionFault) as caught:
        ask()
    return caught.value


def result(**changes: Any) -> dict[str, Any]:
    return {"type": "result", "id": 1, "outputs": [None], "elapsed_ms": 0.5, **changes}


def test_fuzz_of_a_hundred_thousand_messages() -> None:
    """Only the errors of the protocol come out; nothing is imported, compiled, opened, unpickled or executed."""
    command = [sys.executable, "-m", "tests.evaluator.fuzz_runner_link", str(FUZZ_MESSAGES), "20260"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["messages"] >= FUZZ_MESSAGES
    assert set(found["outcomes"]) == {"accepted", "SubmissionFault", "GraderFault", "TreeError", "SpecError"}
    assert min(found["outcomes"].values()) > 100
    assert set(found["events"]) <= {"socket.__new__", "socket.sendmsg", "socket.sendto"}
    assert found["links_left"] == found["fds_growth"] == 0
    assert found["memory_growth_kib"] < 32 * 1024


def test_requests_and_their_answers(pair: Pair) -> None:
    for message in (
        {"type": "ready", "isolation": {"a": 1}},
        {"type": "loaded"},
        {"type": "constructed", "unmatched": ["w", 3]},
        result(elapsed_ms=2, outputs=[[1]]),
        {"type": "traced", "kernels": [["k", 1.5], ["x"], [1, 2], ["y", -1], ["z", 1e300], "k", ["n" * 999, 1]]},
    ):
        pair.answer(message)
    assert pair.link.ready(5) == {"a": 1}
    pair.link.load("source", "ModelNew", 5)
    assert pair.link.construct(NO_INPUTS, {}, 1, 5) == ["w", "3"]
    reply = pair.call()
    assert (reply.outputs, reply.elapsed_ms) == ([[1]], 2.0)
    assert pair.link.end_trace(5).kernels == (("k", 1.5), ("n" * 500, 1.0))
    assert not pair.link.dead


@pytest.mark.parametrize(
    ("kind", "verdict", "says"),
    [
        ("import", Verdict.COMPILE_ERROR, "text"),
        ("compile", Verdict.COMPILE_ERROR, "text"),
        ("runtime", Verdict.RUNTIME_ERROR, "text"),
        ("memory", Verdict.RUNTIME_ERROR, "out of memory: text"),
        ("output", Verdict.INCORRECT, "text"),
        ("format", Verdict.FORMAT_VIOLATION, "text\nDuring forward torch may only"),
    ],
)
def test_a_reported_fault_is_a_failing_verdict(pair: Pair, kind: str, verdict: Verdict, says: str) -> None:
    pair.answer({"type": "fault", "kind": kind, "text": "text", "verdict": "correct"})
    fault = fault_of(pair.call)
    assert (fault.verdict, fault.feedback[: len(says)]) == (verdict, says)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": "correct"},
        {"type": "constructed", "unmatched": []},
        {"type": "fault", "kind": "correct", "text": "x"},
        {"type": "fault", "kind": [], "text": "x"},
        {"type": "fault", "kind": "runtime", "text": 1},
        result(id=2),
        result(id=None),
        result(elapsed_ms=None),
        result(elapsed_ms=-1),
        result(elapsed_ms=True),
        result(elapsed_ms="1"),
        result(elapsed_ms=10**400),
        result(outputs=["x" * MAX_REPLY_BYTES]),
        result(outputs=[]),
        result(outputs=[1, 2]),
        result(outputs={}),
        {"type": "queued"},
    ],
    ids=lambda message: str(message)[:50],
)
def test_what_is_no_answer_ends_the_runner(pair: Pair, message: Any) -> None:
    pair.answer(message)
    fault = fault_of(pair.call)
    assert fault.verdict is Verdict.RUNTIME_ERROR
    assert "no answer to the request" in fault.feedback
    assert pair.reaped == 1


def test_an_answer_ahead_of_its_request_is_out_of_turn(pair: Pair) -> None:
    for number in (1, 1, 2):
        pair.answer(result(id=number))
    pair.call()
    assert fault_of(pair.call).verdict is Verdict.RUNTIME_ERROR
    assert fault_of(pair.call).verdict is Verdict.RUNTIME_ERROR
    assert pair.reaped == 1


def test_a_dead_runner_and_a_silent_one(pair: Pair) -> None:
    silent = fault_of(lambda: pair.call(deadline_s=0.05))
    assert (silent.verdict, silent.feedback) == (Verdict.TIMEOUT, "forward did not return within 0.05 s")
    dead = Pair()
    dead.peer.close()
    gone = fault_of(dead.call)
    assert (gone.verdict, gone.feedback) == (Verdict.RUNTIME_ERROR, "the process died in forward: killed by SIGKILL")
    assert (pair.reaped, dead.reaped) == (1, 1)


def signalled() -> CallRequest:
    return CallRequest([NO_INPUTS], [1], "tf32", signal=9)


def test_a_runner_says_when_its_call_is_queued(pair: Pair) -> None:
    pair.answer({"type": "queued"})
    assert pair.link.begin_call(signalled(), 5)
    pair.answer(result())
    assert pair.link.end_call(5).elapsed_ms == 0.5


def test_one_that_waits_for_results_says_it_late_or_never(pair: Pair) -> None:
    assert not pair.link.begin_call(signalled(), 5)
    pair.answer({"type": "queued"})
    pair.answer(result())
    assert pair.link.end_call(5).elapsed_ms == 0.5
    assert not pair.link.begin_call(signalled(), 5)
    pair.answer(result(id=2))
    assert pair.link.end_call(5).elapsed_ms == 0.5


@pytest.mark.parametrize("messages", [[result()], [{"type": "queued"}, {"type": "queued"}], [{"type": "loaded"}]])
def test_nothing_else_may_come_ahead_of_the_signal(pair: Pair, messages: list[Any]) -> None:
    for message in messages:
        pair.answer(message)
    fault = fault_of(lambda: (pair.link.begin_call(signalled(), 5), pair.link.end_call(5)))
    assert "no answer to the request" in fault.feedback
    assert pair.reaped == 1


@pytest.mark.parametrize("ask", ["ready", "call"])
def test_a_caller_that_goes_away_cancels(ask: str) -> None:
    read, write = os.pipe()
    os.close(write)
    pair = Pair(interrupt_fd=read)
    with pytest.raises(Cancelled):
        pair.link.ready(5) if ask == "ready" else pair.call()
    assert pair.reaped == 1
    os.close(read)
    pair.peer.close()


@pytest.mark.parametrize("isolation", [None, 1, [["a", 1]], "ab"])
def test_a_runner_that_cannot_start_is_our_fault(pair: Pair, isolation: Any) -> None:
    pair.answer({"type": "ready", "isolation": isolation})
    with pytest.raises(GraderFault) as caught:
        pair.link.ready(5)
    assert (caught.value.code, pair.reaped) == ("runner_start", 1)


def test_no_fault_of_the_trusted_runner_is_the_submissions() -> None:
    pair = Pair(trusted=True)
    pair.answer({"type": "fault", "kind": "format", "text": "x"})
    pair.answer({"type": "nonsense"})
    for _ in range(3):
        with pytest.raises(GraderFault) as caught:
            pair.call()
        assert caught.value.code == "reference_failed"
    pair.peer.close()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "no exit status"),
        (9, "killed by SIGKILL"),
        (11, "killed by SIGSEGV"),
        (3 << 8, "exit code 3"),
        (33, "signal 33"),
    ],
)
def test_statuses_in_words(status: int | None, words: str) -> None:
    assert describe_status(status) == words
