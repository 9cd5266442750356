"""The judge's life with its worker: replaced when it dies, without our credentials, gone when the worker is."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grading.migrate import upgrade
from tests.services.broker import Broker
from tests.services.installation import KERNEL, Installation, Process, installation, wait_for
from tests.services.processes import alive

ENDLESS = KERNEL.replace("y = torch", "while True: pass\n        y = torch")
CREDENTIALS = {"KERNEL_ENV_SECRET": "sixteen letters!", "PGPASSWORD": "a password"}


@pytest.fixture(scope="module")
def graded_on_cpu(session_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation whose worker has a real judge, warm for all tests here."""
    folder = tmp_path_factory.mktemp("cpu")
    url = f"sqlite:///{folder / 'cpu.db'}"
    with installation(url, session_broker, folder, KERNEL_ENV_EVALUATOR="cpu", KERNEL_ENV_LEASE_S="30") as made:
        upgrade(made.db)
        yield made


@pytest.fixture
def worker(graded_on_cpu: Installation) -> Process:
    running = [process for process in graded_on_cpu.processes if process.running()]
    return running[0] if running else graded_on_cpu.start_worker(**CREDENTIALS)


def judge_of(worker: Process) -> psutil.Process:
    (judge,) = [child for child in psutil.Process(worker.pid).children() if "evaluator.judge" in child.cmdline()]
    return judge


def wait_looping(installed: Installation, submission_id: str, worker: Process, attempt: int = 1) -> None:
    def looping() -> bool:
        row = installed.row(submission_id)
        return (row.attempt, row.phase) == (attempt, "correctness")

    wait_for(looping, 90, f"the endless loop of attempt {attempt}", worker.tail)


def test_a_judge_killed_in_the_middle_of_a_grade_is_replaced(graded_on_cpu: Installation, worker: Process) -> None:
    row = graded_on_cpu.submit(ENDLESS)
    for attempt in (1, 2):
        wait_looping(graded_on_cpu, row.id, worker, attempt)
        judge_of(worker).kill()
    (ended,) = graded_on_cpu.wait_ended([row.id])
    assert (ended.status, ended.error_code, ended.reward) == ("failed", "judge_lost", None)
    honest = graded_on_cpu.submit(KERNEL)
    (graded,) = graded_on_cpu.wait_ended([honest.id], 120)
    assert graded.verdict == "correct", graded.result


def test_nothing_outlives_a_killed_worker(graded_on_cpu: Installation, worker: Process) -> None:
    row = graded_on_cpu.submit(ENDLESS)
    wait_looping(graded_on_cpu, row.id, worker)
    family = worker.children()
    assert len(family) >= 4, "a pool child, a judge, a zygote and a runner"
    untrusted = [process for process in family if "workers" not in process.cmdline()]
    assert len(untrusted) >= 3
    for process in untrusted:
        knows_no_credentials(process)
    worker.kill()
    wait_for(lambda: not any(alive(process) for process in family), 20, "the end of all of them")


def knows_no_credentials(process: psutil.Process) -> None:
    held = (Path("/proc") / str(process.pid) / "environ").read_bytes()
    for secret in (b"DATABASE_URL", b"REDIS_URL", b"KERNEL_ENV_", *(name.encode() for name in CREDENTIALS)):
        assert secret not in held, process.cmdline()
