"""The registry of waiting requests, with real threads and no server."""

import functools
import queue
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

from app.hints import HintListener
from app.waiters import PORTION, STORM, Room, Waiters


class Source:
    """Stands where database and broker are: which ids have ended, and a stream of hints."""

    def __init__(self) -> None:
        self.ended: dict[str, str] = {}
        self.reads: list[set[str]] = []
        self.hints: queue.Queue[str] = queue.Queue()
        self.fail_next = False

    def read(self, ids: Collection[str]) -> dict[str, str]:
        self.reads.append(set(ids))
        if self.fail_next:
            self.fail_next = False
            raise OSError("the database is away")
        return {key: self.ended[key] for key in ids if key in self.ended}

    def listen(self) -> Iterator[dict[str, str | None] | None]:
        yield None
        while True:
            hint = self.hints.get()
            if hint == "broken":
                raise OSError("the broker is away")
            yield {"submission": hint, "batch": None}

    def waiters(self, room: Room) -> Waiters[str]:
        listener = HintListener(self.listen)
        made: Waiters[str] = Waiters(self.read, room, listener.start)
        listener.pass_on("submission", made.note)
        return made


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def room() -> Room:
    return Room(100)


@pytest.fixture
def waiters(source: Source, room: Room) -> Iterator[Waiters[str]]:
    made = source.waiters(room)
    yield made
    made.close()


def start(target: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def waiting(waiters: Waiters[str], key: str, answers: queue.Queue[Any], timeout_s: float = 30.0) -> threading.Thread:
    """A thread that waits for `key`, and is registered when this returns."""
    ready = threading.Event()

    def wait() -> None:
        with waiters.ticket(key) as ticket:
            ready.set()
            answers.put(ticket.wait(timeout_s) if ticket else "crowded")

    thread = start(wait)
    assert ready.wait(10)
    return thread


def test_a_hint_wakes_the_one_who_waits_for_it(waiters: Waiters[str], source: Source, room: Room) -> None:
    answers: queue.Queue[Any] = queue.Queue()
    waiting(waiters, "sub_a", answers)
    waiting(waiters, "sub_b", queue.Queue())
    source.ended["sub_a"] = "row a"
    source.hints.put("sub_a")
    assert answers.get(timeout=10) == "row a"
    assert room.taken == 1


def test_an_end_without_a_hint_is_found(waiters: Waiters[str], source: Source) -> None:
    answers: queue.Queue[Any] = queue.Queue()
    waiting(waiters, "sub_a", answers)
    source.ended["sub_a"] = "row a"
    assert answers.get(timeout=10) == "row a"


def test_a_failed_read_is_repeated(waiters: Waiters[str], source: Source) -> None:
    answers: queue.Queue[Any] = queue.Queue()
    waiting(waiters, "sub_a", answers)
    source.ended["sub_a"], source.fail_next = "row a", True
    source.hints.put("sub_a")
    assert answers.get(timeout=10) == "row a"


def test_many_ends_cost_few_reads(source: Source) -> None:
    waiters = source.waiters(Room(1000))
    answers: queue.Queue[Any] = queue.Queue()
    keys = [f"sub_{number}" for number in range(200)]
    for key in keys:
        waiting(waiters, key, answers)
    before = len(source.reads)
    source.ended = {key: key for key in keys}
    source.hints.put("broken")
    assert sorted(answers.get(timeout=10) for _ in keys) == sorted(keys)
    assert len(source.reads) - before <= 5
    waiters.close()


def test_past_the_cap_nobody_waits(source: Source) -> None:
    room = Room(1)
    waiters = source.waiters(room)
    waiting(waiters, "sub_a", queue.Queue())
    with waiters.ticket("sub_b") as ticket:
        assert ticket is None
    waiters.close()


def test_time_that_runs_out_is_no_answer(waiters: Waiters[str], room: Room) -> None:
    with waiters.ticket("sub_a") as ticket:
        assert ticket is not None
        assert ticket.wait(0.01) is None
    assert room.taken == 0


def test_closing_answers_everybody(source: Source) -> None:
    waiters = source.waiters(Room(10))
    answers: queue.Queue[Any] = queue.Queue()
    for key in ("sub_a", "sub_b"):
        waiting(waiters, key, answers)
    waiters.close()
    assert [answers.get(timeout=10), answers.get(timeout=10)] == [None, None]
    with waiters.ticket("sub_c") as ticket:
        assert ticket is None


def test_who_waits_for_more_is_not_woken_by_less(waiters: Waiters[str], source: Source) -> None:
    answers: queue.Queue[Any] = queue.Queue()

    def wait() -> None:
        with waiters.ticket("bat_a", lambda row: len(row) >= 3) as ticket:
            answers.put("registered")
            answers.put(ticket.wait(30) if ticket else "crowded")

    start(wait)
    assert answers.get(timeout=10) == "registered"
    for endings in ("a", "aa", "aaa"):
        source.ended["bat_a"] = endings
        source.hints.put("bat_a")
    assert answers.get(timeout=10) == "aaa"


def test_a_storm_of_hints_has_all_read_that_are_waited_for(source: Source) -> None:
    waiters = source.waiters(Room(1000))
    answers: queue.Queue[Any] = queue.Queue()
    keys = [f"sub_{number}" for number in range(200)]
    for key in keys:
        waiting(waiters, key, answers)
    source.ended = {key: key for key in keys}
    for key in keys[: STORM * 4]:  # the other hints are lost
        source.hints.put(key)
    assert sorted(answers.get(timeout=10) for _ in keys) == sorted(keys)
    waiters.close()


def test_those_who_linger_hold_up_nobody_for_long(source: Source) -> None:
    waiters, let_go = source.waiters(Room(1000)), threading.Event()
    answers: queue.Queue[Any] = queue.Queue()
    ready = threading.Barrier(PORTION * 4 + 1)

    def linger(key: str) -> None:
        with waiters.ticket(key) as ticket:
            ready.wait(30)
            answers.put(ticket.wait(30) if ticket else "crowded")
            let_go.wait(30)

    keys = [f"sub_{number}" for number in range(PORTION * 4)]
    for key in keys:
        start(functools.partial(linger, key))
    ready.wait(30)
    source.ended = {key: key for key in keys}
    source.hints.put(keys[0])
    assert sorted(answers.get(timeout=10) for _ in keys) == sorted(keys)
    let_go.set()
    waiters.close()
