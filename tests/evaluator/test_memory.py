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


def nothing(idle_bytes_max: int) -> None:
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
        with budget.admitted(Need(60 * GIB, 0), waiting, lambda idle_bytes_max: asked.set(), None):
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


def test_who_runs_alone_waits_for_all_and_all_that_come_later_wait_for_it() -> None:
    budget = MemoryBudget(100 * GIB)
    order: list[str] = []

    def alone() -> None:
        with budget.admitted(Need(0, 0), clock(), nothing, None, alone=True) as admission:
            order.append("alone")
            later.join(0.3)
            assert not admission.shared
            order.append("end of alone")

    def another() -> None:
        with budget.admitted(Need(GIB, 0), clock(), nothing, None):
            order.append("another")

    first, later = threading.Thread(target=alone), threading.Thread(target=another)
    with budget.admitted(Need(GIB, 0), clock(), nothing, None):
        first.start()
        first.join(0.3)
        later.start()
        later.join(0.3)
        order.append("end of the first")
    first.join(10)
    later.join(10)
    assert order == ["end of the first", "alone", "end of alone", "another"]


def test_whoever_gives_up_waiting_is_in_nobodys_way() -> None:
    budget = MemoryBudget(100 * GIB)
    read, write = os.pipe()
    os.write(write, b"x")
    with budget.admitted(Need(50 * GIB, 0), clock(), nothing, None):
        with pytest.raises(Cancelled), budget.admitted(Need(60 * GIB, 0), clock(), nothing, read):
            pass
        with budget.admitted(Need(20 * GIB, 0), clock(), nothing, None):
            pass
    os.close(read)
    os.close(write)


def test_grades_know_that_they_were_not_alone_even_after_the_other_has_ended() -> None:
    budget = MemoryBudget(100 * GIB)
    need = Need(GIB, 0)
    with budget.admitted(need, clock(), nothing, None) as first:
        assert not first.shared
        with budget.admitted(need, clock(), nothing, None) as second:
            assert first.shared
            assert second.shared
        assert first.shared


@pytest.mark.parametrize(("need_gib", "alone", "left"), [(50, False, [30, 10]), (70, False, [10]), (0, True, [])])
def test_what_lies_idle_goes_as_far_as_it_is_in_the_way(need_gib: int, alone: bool, left: list[int]) -> None:
    idle_gib = [30, 10]
    budget = MemoryBudget(100 * GIB, lambda: sum(idle_gib) * GIB)

    def shrink(idle_bytes_max: int) -> None:
        while sum(idle_gib) * GIB > idle_bytes_max:
            idle_gib.pop(0)

    with budget.admitted(Need(need_gib * GIB, 0), clock(), shrink, None, alone=alone):
        assert idle_gib == left


def test_only_what_the_device_can_hold_is_held() -> None:
    budget = MemoryBudget(100 * GIB)
    assert budget.holds(Need(60 * GIB, 30 * GIB))
    assert not budget.holds(Need(60 * GIB, 60 * GIB))
