"""One installation for tests: settings with short leases, a database, a broker, and real worker processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import select

from grading import jobs
from grading.celery_app import make_celery
from grading.db import Database
from grading.models import Submission
from grading.queue import BackgroundRinger, Ringer
from grading.settings import Settings
from grading.states import UNFINISHED
from launcher.process import tied
from tests.services.broker import Broker

REPOSITORY = Path(__file__).resolve().parents[2]
SECRET = b"a secret of the tests"
PROJECT = "project"
TASK = "level1/19_ReLU"
# the phases of a grade that take time; which of them is seen depends on how often anybody looks
UNDER_WAY = ("compile", "correctness", "timing", "provenance")
READY_S = 60.0

KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, tl.maximum(x, 0.0), mask=offsets < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""

CUDA_KERNEL = '''
import torch
from torch.utils.cpp_extension import load_inline

cuda = r"""
__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
extern "C" void launch(const float* x, float* y, int n) { relu<<<(n + 255) / 256, 256>>>(x, y, n); }
"""
cpp = r"""
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tiny", 0, -1, 0};
PyMODINIT_FUNC PyInit_tiny() { return PyModule_Create(&module); }
"""
ext = load_inline(name="tiny", cpp_sources=cpp, cuda_sources=cuda, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        ext.launch(x, y)
        return y
'''

SHORT = {
    "KERNEL_ENV_LEASE_S": "3",
    "KERNEL_ENV_RENEW_S": "1",
    "KERNEL_ENV_SLOT_LEASE_S": "3",
    "KERNEL_ENV_IDLE_LOOK_S": "0.5",
    "KERNEL_ENV_REAP_S": "0.5",
    "KERNEL_ENV_DRAIN_S": "2",
}


def source(directive: str = "correct speedup=2.0", salt: object = "") -> str:
    """An honest kernel that asks the mock evaluator for an outcome."""
    return f"{KERNEL}\n# mock: {directive}\n# {salt}\n"


def cuda_source(directive: str = "correct speedup=2.0", salt: object = "") -> str:
    """The like in CUDA, which compiles without torch's headers."""
    return f"{CUDA_KERNEL}\n# mock: {directive}\n# {salt}\n"


@dataclass
class Installation:
    """Settings and connections of this process, and the processes that it started."""

    environment: dict[str, str]
    data_dir: Path
    broker: Broker
    settings: Settings = field(init=False)
    db: Database = field(init=False)
    ringer: BackgroundRinger = field(init=False)
    processes: list["Process"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = Settings.load(self.environment)
        self.db = Database(self.settings.database_url)
        self.ringer = BackgroundRinger(Ringer(make_celery(self.settings), self.db))

    def submit(self, code: str, **more: object) -> Submission:
        """Take a submission in as the API does: commit, then ring."""
        if "episode_id" not in more:
            more.setdefault("task_id", TASK)
        new = jobs.NewSubmission(project_id=PROJECT, code=code, **more)  # type: ignore[arg-type]
        row = jobs.submit(self.db, SECRET, new).row
        self.ringer.ring_for(row.id)
        return row

    def row(self, submission_id: str) -> Submission:
        with self.db.read() as session:
            found = session.get(Submission, submission_id)
            assert found is not None
            return found

    def wait_ended(self, ids: Collection[str], timeout_s: float = 60.0) -> list[Submission]:
        """The rows once all of them have ended."""
        left = select(Submission.id).where(Submission.id.in_(ids), Submission.status.in_(UNFINISHED)).limit(1)

        def all_ended() -> bool:
            with self.db.read() as session:
                return session.scalar(left) is None

        wait_for(all_ended, timeout_s, f"{len(ids)} ends", lambda: "\n".join(p.tail() for p in self.processes))
        return [self.row(i) for i in ids]

    def start_worker(self, number: int = 0, *, ready: bool = True, **environment: str) -> "Process":
        process = self.start(["-m", "workers", str(number)], f"worker-{number}", environment)
        if ready:
            process.wait_logged("slot_ready")
        return process

    def start_builder(self, number: int = 0, *, ready: bool = True, **environment: str) -> "Process":
        process = self.start(["-m", "workers.builder", str(number)], f"builder-{number}", environment)
        if ready:
            process.wait_logged("slot_ready")
        return process

    def start_reaper(self) -> "Process":
        return self.start(["-m", "workers.reaper"], "reaper", {})

    def start(
        self, arguments: Sequence[str], name: str, environment: dict[str, str], prefix: Sequence[str] = ()
    ) -> "Process":
        """`prefix` is a command that runs the process, such as setpriv with its options."""
        log = self.data_dir / f"{name}-{len(self.processes)}.log"
        process = Process([*prefix, sys.executable, *arguments], log, {**os.environ, **self.environment, **environment})
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        self.db.dispose()


class Process:
    """A real process of the product, with its output in a file."""

    def __init__(self, command: Sequence[str], log: Path, environment: dict[str, str]) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=tied(signal.SIGKILL),  # which ends it frozen as well
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    def running(self) -> bool:
        return self._process.poll() is None

    def wait_logged(self, text: str) -> None:
        """Wait until its output holds this text."""

        def seen() -> bool:
            assert self.running(), self.tail()
            return text in self.log.read_text()

        wait_for(seen, READY_S, text, self.tail)

    def tail(self) -> str:
        return "\n".join(self.log.read_text().splitlines()[-30:])

    def wait(self, timeout_s: float) -> int:
        """Its exit code, once it has ended by itself."""
        return self._process.wait(timeout_s)

    def terminate(self, timeout_s: float = 60.0) -> int:
        """SIGTERM, and its exit code."""
        self.ask_to_end()
        return self._process.wait(timeout_s)

    def ask_to_end(self) -> None:
        """SIGTERM, without waiting for what comes of it."""
        self._process.send_signal(signal.SIGTERM)

    def freeze(self) -> None:
        for process in self._tree():
            process.suspend()

    def thaw(self) -> None:
        for process in self._tree():
            process.resume()

    def kill(self) -> None:
        """SIGKILL to the main process; what it leaves behind must end by itself."""
        if self.running():
            psutil.Process(self.pid).resume()
            self._process.kill()
        self._process.wait()

    def _tree(self) -> list[psutil.Process]:
        main = psutil.Process(self.pid)
        return [main, *main.children(recursive=True)]


def wait_for(condition: Callable[[], bool], timeout_s: float, what: str, detail: Callable[[], str] = str) -> None:
    """Look ten times a second until the condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain for {what}\n{detail()}")
        time.sleep(0.1)


@contextmanager
def installation(database_url: str, broker: Broker, data_dir: Path, **settings: str) -> Iterator[Installation]:
    """An installation over an empty, migrated database; its processes are killed at the end."""
    environment = {
        "DATABASE_URL": database_url,
        "REDIS_URL": broker.url,
        "KERNEL_ENV_DATA_DIR": str(data_dir),
        "KERNEL_ENV_EVALUATOR": "mock",
        "KERNEL_ENV_HOST": "testhost",
        **SHORT,
        **settings,
    }
    made = Installation(environment, data_dir, broker)
    try:
        yield made
    finally:
        made.close()
