"""The supervisor of one host's workers: what it starts, what it starts again, and what its end leaves behind."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grading.settings import Settings
from launcher.commands import REPOSITORY
from launcher.workers import commands_for
from tests.conftest import empty
from tests.services.broker import Broker
from tests.services.installation import Installation, installation, source, wait_for
from tests.services.processes import alive

HOST = "one-host"


@pytest.fixture
def installed(postgres_url: str, broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    empty(postgres_url)
    with installation(postgres_url, broker, tmp_path) as made:
        made.environment |= {"KERNEL_ENV_HOST": HOST, "KERNEL_ENV_GPUS": "0,1", "KERNEL_ENV_BUILDERS": "1"}
        yield made


def check(installed: Installation, *kind: str) -> subprocess.CompletedProcess[str]:
    """What the health check of a container runs."""
    command = [sys.executable, "-m", "launcher.workers", *kind, "--check"]
    return subprocess.run(
        command, cwd=REPOSITORY, env=installed.environment, capture_output=True, text=True, timeout=60
    )


def serving(supervisor: int, number: int) -> list[psutil.Process]:
    """The worker of that device under the supervisor."""
    found = []
    for child in psutil.Process(supervisor).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # a killed one, until its parent looks
            if child.cmdline()[-3:] == ["-m", "workers", str(number)]:
                found.append(child)
    return found


def test_one_worker_per_gpu_is_started_again_and_drained(installed: Installation) -> None:
    assert check(installed).returncode == 1
    supervisor = installed.start(["-m", "launcher.workers"], "supervisor", {})
    wait_for(lambda: supervisor.log.read_text().count("slot_ready") == 2, 60, "two slots", supervisor.tail)
    assert check(installed).stdout == "well\n"
    unserved = check(installed, "builders")
    assert (unserved.returncode, unserved.stdout[:29]) == (1, "Nobody serves builder 0 of on")

    (victim,) = serving(supervisor.pid, 1)
    victim.kill()
    wait_for(
        lambda: bool(again := serving(supervisor.pid, 1)) and again[0].pid != victim.pid, 60, "another", supervisor.tail
    )
    assert "worker-1 ended with status -9" in supervisor.log.read_text()

    family = psutil.Process(supervisor.pid).children(recursive=True)
    graded = installed.submit(source())
    installed.wait_ended([graded.id])
    assert supervisor.terminate() == 0
    assert not any(map(alive, family))
    assert "not_released" not in supervisor.log.read_text()


def test_a_running_grade_is_handed_back_when_the_host_stops(installed: Installation) -> None:
    slow = {"KERNEL_ENV_GPUS": "0", "KERNEL_ENV_MOCK_EVAL_S": "60", "KERNEL_ENV_DRAIN_S": "1"}
    supervisor = installed.start(["-m", "launcher.workers"], "supervisor", slow)
    supervisor.wait_logged("slot_ready")
    row = installed.submit(source())
    wait_for(lambda: str(installed.row(row.id).status) == "running", 60, "a claim", supervisor.tail)
    assert supervisor.terminate() == 0
    row = installed.row(row.id)
    assert (str(row.status), row.losses) == ("queued", 0)


def test_builders_alone_and_logs_of_their_own(installed: Installation, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    arguments = ["-m", "launcher.workers", "builders", "--log-dir", str(logs)]
    builders = installed.start(arguments, "builders", {})
    wait_for(lambda: check(installed, "builders").returncode == 0, 60, "a builder", builders.tail)
    builders.ask_to_end()
    assert builders.wait(60) == 0
    assert (logs / "builder-0.log").exists()


def test_a_killed_supervisor_takes_its_workers_along(installed: Installation) -> None:
    supervisor = installed.start(["-m", "launcher.workers"], "supervisor", {"KERNEL_ENV_GPUS": "0"})
    supervisor.wait_logged("slot_ready")
    family = supervisor.children()
    psutil.Process(supervisor.pid).send_signal(signal.SIGKILL)
    wait_for(lambda: not any(map(alive, family)), 60, "ends", str)


def test_workers_never_see_the_secret_of_hidden_seeds() -> None:
    settings = Settings.load({"KERNEL_ENV_GPUS": "3,5", "KERNEL_ENV_SECRET": "s" * 32, "KERNEL_ENV_BUILDERS": "2"})
    made = [*commands_for(settings, "graders"), *commands_for(settings, "builders")]
    assert [command.name for command in made] == ["worker-3", "worker-5", "builder-0", "builder-1"]
    assert {command.env["KERNEL_ENV_SECRET"] for command in made} == {""}


def test_no_builders_is_a_sentence(tmp_path: Path) -> None:
    environ = {"KERNEL_ENV_BUILDERS": "0", "KERNEL_ENV_DATA_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "launcher.workers", "builders"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 78
    assert done.stderr == "KERNEL_ENV_BUILDERS takes at least 1 where builders are to be started.\n"
