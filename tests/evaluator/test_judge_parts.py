"""What outlives a grade inside the judge: its clock, turns on the device, and benches that are kept warm."""

import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.errors import Cancelled, GraderFault, SubmissionFault
from evaluator.judge.cache import IDLE_MAX, BenchCache
from evaluator.judge.clock import PhaseClock
from evaluator.judge.turn import DeviceTurn
from evaluator.verdicts import Verdict


def clock(run_s: float = 300.0) -> PhaseClock:
    return PhaseClock(lambda phase: None, run_s)


def test_phases_are_told_and_added_up() -> None:
    told: list[str] = []
    made = PhaseClock(told.append, 300.0)
    for name in ("a", "b", "a"):
        with made.phase(name):
            pass
    with pytest.raises(KeyError), made.phase("c"):
        raise KeyError
    assert told == ["a", "b", "a", "c"]
    assert set(made.phases) == {"a", "b", "c"}


def test_a_step_gets_what_is_left_of_the_run() -> None:
    made = clock(100.0)
    assert made.limit(30.0) == 30.0
    assert 99.0 < made.limit(1000.0) <= 100.0
    made.waited(50.0)
    assert 149.0 < made.limit(1000.0) <= 150.0
    made.restart_run()
    assert made.limit(1000.0) <= 100.0
    assert made.phases["device_wait"] == 50.0


def test_a_run_that_took_too_long_is_a_timeout() -> None:
    with pytest.raises(SubmissionFault, match="longer than 0 s") as caught:
        clock(0.0).limit(1.0)
    assert caught.value.verdict is Verdict.TIMEOUT


def test_turns_exclude_each_other_and_waiting_counts_for_no_limit() -> None:
    turn, first, second = DeviceTurn(), clock(), clock()
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with turn.held(first, "timing", None):
            inside.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(30)
    waiter = threading.Thread(target=lambda: second_turn(turn, second))
    waiter.start()
    assert second.device_held == {}
    leave.set()
    for thread in (holder, waiter):
        thread.join(30)
    assert (set(first.device_held), set(second.device_held)) == ({"timing"}, {"correctness"})
    assert second.remaining_s() > 299


def second_turn(turn: DeviceTurn, made: PhaseClock) -> None:
    with turn.held(made, "correctness", None):
        pass


def test_who_goes_away_waits_no_longer() -> None:
    turn = DeviceTurn()
    read, write = os.pipe()
    os.close(write)
    with turn.held(clock(), "timing", None), pytest.raises(Cancelled), turn.held(clock(), "timing", read):
        pytest.fail("two grades hold the device")
    os.close(read)
    with turn.held(clock(), "again", None):
        pass


def test_a_lent_device_is_others_again_in_time() -> None:
    turn, lender = DeviceTurn(), clock()
    with turn.lent(lender, "construct", None, at_most_s=0.05), turn.held(clock(), "timing", None):
        pass  # while the slow one still goes on
    with turn.lent(lender, "construct", None, at_most_s=300.0):
        pass
    with turn.held(clock(), "timing", None):
        assert set(lender.device_held) == {"construct"}


class Bench:
    def __init__(self, task_id: str, held_bytes: int = 1) -> None:
        self.reference = SimpleNamespace(task_id=task_id)
        self.held_bytes = held_bytes
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_benches_are_used_again_by_one_grade_at_a_time() -> None:
    cache: Any = BenchCache(Bench, 100)  # type: ignore[arg-type]
    first = cache.take("a")
    assert cache.take("a") is not first
    cache.give_back(first)
    assert cache.take("b") is not first
    assert cache.take("a") is first


def test_the_least_recently_used_go_first() -> None:
    cache: Any = BenchCache(Bench, 100)  # type: ignore[arg-type]
    benches = [cache.take(str(number)) for number in range(IDLE_MAX + 2)]
    for bench in benches:
        cache.give_back(bench)
    assert [bench.closed for bench in benches] == [True, True] + [False] * IDLE_MAX
    large = Bench("large", 101)
    cache.give_back(large)
    assert large.closed
    assert all(bench.closed for bench in benches)


def test_benches_go_until_the_others_hold_no_more_than_may_stay() -> None:
    cache: Any = BenchCache(lambda task_id: Bench(task_id, int(task_id)), 100)  # type: ignore[arg-type, return-value]
    benches = [cache.take(size) for size in ("40", "30", "20")]
    for bench in benches:
        cache.give_back(bench)
    cache.shrink(50)
    assert [bench.closed for bench in benches] == [True, False, False]
    assert cache.idle_bytes() == 50


def test_idle_benches_make_room_for_one_that_does_not_fit() -> None:
    tries: list[str] = []

    def make(task_id: str) -> Bench:
        tries.append(task_id)
        if task_id == "large" and tries.count("large") == 1:
            raise GraderFault("device_memory", "cuMemAlloc failed")
        if task_id == "broken":
            raise GraderFault("broken_task", "no Model")
        return Bench(task_id)

    cache: Any = BenchCache(make, 100)  # type: ignore[arg-type]
    idle = cache.take("small")
    cache.give_back(idle)
    with pytest.raises(GraderFault, match="broken_task"):
        cache.take("broken")
    assert not idle.closed
    assert cache.take("large").reference.task_id == "large"
    assert idle.closed


def test_a_clock_tells_the_share_of_time_for_which_its_grade_held_the_device() -> None:
    made, turn = clock(), DeviceTurn()
    time.sleep(0.2)
    with turn.held(made, "timing", None):
        time.sleep(0.2)
    assert 0.0 < made.device_held_frac < 1.0
    assert made.device_held["timing"] >= 0.2
