"""What a killed process has started does not outlive it: a demonstration, or a run of these tests."""

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from launcher.commands import REPOSITORY
from launcher.process import tied
from tests.services.installation import wait_for
from tests.services.processes import alive

STARTS_ALL = """
import sys
import threading
from pathlib import Path
from launcher.demo_server import OwnServer
from tests.services.broker import Broker
from tests.services.installation import installation
from tests.services.postgres_server import PostgresServer

broker, postgres = Broker(), PostgresServer()
broker.start()
postgres.start()
with OwnServer(KERNEL_ENV_EVALUATOR="mock") as server:
    database = f"sqlite:///{server.data_dir}/kernel-grader.db"
    with installation(database, broker, Path(sys.argv[1])) as installed:
        installed.start_worker(5)
        print(postgres.folder, server.data_dir, sep="\\n", flush=True)
        sys.stdin.read()
"""


def test_nothing_outlives_who_was_killed_outright(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_ALL, str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        folders = [starter.stdout.readline().strip() for _ in range(2)]
        family = psutil.Process(starter.pid).children(recursive=True)
        starter.send_signal(signal.SIGKILL)
    try:
        names = " ".join(process.name() for process in family if alive(process))
        assert len(family) > 10, names
        left: list[psutil.Process] = []

        def none_left() -> bool:
            left[:] = [process for process in family if alive(process)]
            return not left

        wait_for(none_left, 30, "all that it had started to end", lambda: str(left))
    finally:
        for process in filter(alive, family):
            process.kill()
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def test_what_a_thread_starts_outlives_the_thread() -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=tied(signal.SIGKILL)))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    with started[0] as child:
        child.communicate(b"", timeout=30)
    assert child.returncode == 0
