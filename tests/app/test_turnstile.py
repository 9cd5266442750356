"""Few requests work at a time: places are handed on in order, given back after errors, and not waited for for ever."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from flask import Flask

from app.problems import Problem
from app.turnstile import Turnstile
from tests.services.installation import wait_for


@contextmanager
def request() -> Iterator[None]:
    """What the turnstile keeps about a request needs one."""
    with Flask("test").app_context():
        yield


def start(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_so_many_work_at_a_time_and_all_have_their_turn() -> None:
    turnstile, working, most, done = Turnstile(3), [0], [0], [0]
    lock = threading.Lock()

    def work() -> None:
        with request(), turnstile.inside():
            with lock:
                working[0] += 1
                most[0] = max(most[0], working[0])
            time.sleep(0.002)
            with lock:
                working[0] -= 1
                done[0] += 1

    threads = [start(work) for _ in range(60)]
    for thread in threads:
        thread.join(30)
    assert (done[0], working[0]) == (60, 0)
    assert 1 <= most[0] <= 3


def test_who_waits_lets_others_work() -> None:
    turnstile, let_go, inside = Turnstile(1), threading.Event(), []

    def wait() -> None:
        with request(), turnstile.inside(), turnstile.outside():
            inside.append("waits")
            let_go.wait(30)

    waiting = [start(wait) for _ in range(20)]
    wait_for(lambda: len(inside) == 20, 10, "twenty inside")
    with request(), turnstile.inside():
        let_go.set()
    for thread in waiting:
        thread.join(30)
        assert not thread.is_alive()


def test_those_who_queue_come_in_as_they_came() -> None:
    turnstile, order = Turnstile(1), []

    def work(number: int) -> None:
        with request(), turnstile.inside():
            order.append(number)

    with request(), turnstile.inside():
        threads = []
        for number in range(10):
            threads.append(start(lambda number=number: work(number)))  # type: ignore[misc]
            wait_for(lambda: len(turnstile._queue) == len(threads), 10, "all to queue")
    for thread in threads:
        thread.join(30)
    assert order == list(range(10))


def test_an_error_gives_the_place_back() -> None:
    turnstile = Turnstile(1)
    with request(), pytest.raises(ZeroDivisionError), turnstile.inside():
        raise ZeroDivisionError
    with request(), pytest.raises(ZeroDivisionError), turnstile.inside(), turnstile.outside():
        raise ZeroDivisionError
    with request(), turnstile.inside():
        pass


def test_patience_ends_with_a_refusal_and_costs_no_place() -> None:
    turnstile = Turnstile(1, patience_s=0.05)
    with request(), turnstile.inside():

        def refused() -> None:
            with request(), pytest.raises(Problem) as raised, turnstile.inside():
                pass
            refusals.append(raised.value.kind.status)

        refusals: list[int] = []
        threads = [start(refused) for _ in range(3)]
        for thread in threads:
            thread.join(30)
        assert refusals == [503] * 3
    with request(), turnstile.inside():
        pass


def test_outside_of_it_nothing_is_given_back() -> None:
    turnstile = Turnstile(1)
    with request(), turnstile.outside():
        pass
    with request(), turnstile.inside():
        assert turnstile._free == 0
    assert turnstile._free == 1
