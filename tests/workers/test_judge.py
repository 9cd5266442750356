"""The judge's life with its worker: replaced when it dies, gone when the worker is."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grading.migrate import upgrade
from tests.services.broker import Broker
from tests.services.installation import KERNEL, Installation, Process, installation, wait_for

ENDLESS = KERNEL.replace("y = torch", "while True: pass\n        y = torch")


@pytest.fixture
def graded_on_cpu(broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    """An installation whose worker has a real judge."""
    url = f"sqlite:///{tmp_path / 'cpu.db'}"
    with installation(url, broker, tmp_path, KERNEL_ENV_EVALUATOR="cpu", KERNEL_ENV_LEASE_S="30") as made:
        upgrade(made.db)
        yield made


def judge_of(worker: Process) -> psutil.Process:
    (judge,) = [child for child in psutil.Process(worker.pid).children() if "evaluator.judge" in child.cmdline()]
    return judge


def test_a_judge_killed_in_the_middle_of_a_grade_is_replaced(graded_on_cpu: Installation) -> None:
    worker = graded_on_cpu.start_worker()
    row = graded_on_cpu.submit(ENDLESS)
    wait_for(lambda: graded_on_cpu.row(row.id).phase == "correctness", 60, "the endless loop", worker.tail)
    judge_of(worker).kill()
    wait_for(lambda: graded_on_cpu.row(row.id).attempt == 2, 60, "another attempt", worker.tail)
    judge_of(worker).kill()
    (ended,) = graded_on_cpu.wait_ended([row.id])
    assert (ended.status, ended.error_code, ended.reward) == ("failed", "judge_lost", None)
    honest = graded_on_cpu.submit(KERNEL)
    (graded,) = graded_on_cpu.wait_ended([honest.id], 120)
    assert graded.verdict == "correct", graded.result


def test_nothing_outlives_a_killed_worker(graded_on_cpu: Installation) -> None:
    worker = graded_on_cpu.start_worker()
    row = graded_on_cpu.submit(ENDLESS)
    wait_for(lambda: graded_on_cpu.row(row.id).phase == "correctness", 60, "the endless loop", worker.tail)
    family = worker.children()
    assert len(family) >= 4, "a pool child, a judge, a zygote and a runner"
    worker.kill()
    wait_for(lambda: not any(alive(process) for process in family), 20, "the end of all of them")


def alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
