"""Admission to the device's memory: alone a grade always runs, beside others only if it fits, and waiting can end."""

import os
import threading

import pytest

from evaluator.errors import Cancelled
from evaluator.judge.clock import PhaseClock
from evaluator.judge.memory import MemoryBudget, Need

GIB = 1024**3


def clock() -> PhaseClock:
    return PhaseClock(lambda name: None, run_s=60.0)


def nothing() -> None:
    return None


def test_a_grade_that_is_larger_than_the_device_runs_alone() -> None:
    budget = MemoryBudget(8 * GIB)
    with budget.admitted(Need(80 * GIB, GIB), clock(), nothing, None):
        pass


def test_two_that_fit_run_beside_each_other() -> None:
    budget = MemoryBudget(100 * GIB)
    small = Need(30 * GIB, 20 * GIB)
    with budget.admitted(small, clock(), nothing, None), budget.admitted(small, clock(), nothing, None):
        pass


def test_one_that_does_not_fit_makes_room_and_waits_for_an_end() -> None:
    budget = MemoryBudget(100 * GIB)
    asked = threading.Event()
    entered = threading.Event()
    waiting = clock()

    def second() -> None:
        with budget.admitted(Need(60 * GIB, 0), waiting, asked.set, None):
            entered.set()

    thread = threading.Thread(target=second)
    with budget.admitted(Need(60 * GIB, 0), clock(), nothing, None):
        thread.start()
        assert asked.wait(10)
        assert not entered.is_set()
    thread.join(10)
    assert entered.is_set()
    assert waiting.phases["device_wait"] >= 0


def test_what_passes_counts_once_for_all_lanes() -> None:
    budget = MemoryBudget(100 * GIB)
    need = Need(20 * GIB, 30 * GIB)
    with (
        budget.admitted(need, clock(), nothing, None),
        budget.admitted(need, clock(), nothing, None),
        budget.admitted(need, clock(), nothing, None),
    ):
        pass


def test_waiting_ends_when_the_caller_goes_away() -> None:
    budget = MemoryBudget(10 * GIB)
    read, write = os.pipe()
    os.write(write, b"x")
    with (
        budget.admitted(Need(9 * GIB, 0), clock(), nothing, None),
        pytest.raises(Cancelled),
        budget.admitted(Need(9 * GIB, 0), clock(), nothing, read),
    ):
        pass
    os.close(read)
    os.close(write)


def test_waiting_for_an_end_does_not_wait_where_nothing_runs() -> None:
    assert MemoryBudget(GIB).wait_for_an_end(clock(), None) is False
