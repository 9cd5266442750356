"""Kernel Grader on Modal; docs/modal.md says how to deploy it, and what nobody has tried yet.

`app` is one server on one GPU, with a database of its own. `split` is an API without a GPU and workers with one each,
which meet in a Postgres and a Redis of yours. The images hold what those of docker/Dockerfile do.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import modal

HERE = Path(__file__).parent
GPU = os.environ.get("KERNEL_GRADER_MODAL_GPU", "H100")
WORKERS = os.environ.get("KERNEL_GRADER_MODAL_WORKERS", "1")
if not WORKERS.isascii() or not WORKERS.isdigit() or not int(WORKERS):
    raise SystemExit(f"KERNEL_GRADER_MODAL_WORKERS takes the number of GPUs, 1 or more, not {WORKERS!r}")

PYTHON = "3.12"
CUDA_IMAGE = "nvidia/cuda:13.0.1-devel-ubuntu24.04"
TASKS_COMMIT = "423217d9fda91e0c2d67e4a43bf62f96f6d104f1"
CODE, DATA, TASKS = "/app", "/data", "/tasks"
# what .dockerignore lets into the images of docker/Dockerfile
FOLDERS = ("app", "docker", "evaluator", "grading", "kernelbench_tasks", "launcher", "migrations", "workers")
FILES = ("alembic.ini", "pyproject.toml", "requirements/constraints.txt")
NEEDED_TO_BUILD = (*FILES[1:], "docker/service_packages.py", "docker/fetch_tasks.sh")
PORT = 8000

# waits of 60 s at most; a process of the API serves about 800 waiters beside its other requests
REQUESTS_AT_ONCE = 800
START_S = 600
# an idle server goes after this time, with its GPU; the next request starts another
IDLE_S = 15 * 60
# what Modal grants a container that is to end; a server's limit is raised to it, a worker's cannot be
SERVER_STOP_S, WORKER_STOP_S = 60, 28
WORKER_DRAIN_S = 10


def image(base: modal.Image, *, everything: bool) -> modal.Image:
    """The base with the locked packages, the tasks and, mounted at the start, this repository."""
    packages = f"python /build/service_packages.py /build/pyproject.toml {'--all' if everything else ''}"
    for name in NEEDED_TO_BUILD:
        base = base.add_local_file(HERE / name, f"/build/{Path(name).name}", copy=True)
    base = base.add_local_dir(HERE / "kernelbench_tasks", "/bundled", copy=True)
    kernelbench = {
        "TASKS": "kernelbench",
        "KERNELBENCH_URL": "https://github.com/ScalingIntelligence/KernelBench",
        "KERNELBENCH_COMMIT": TASKS_COMMIT,
    }
    built = (
        base.run_commands(
            f"{packages} > /build/packages.txt",
            "python -m pip install --constraint /build/constraints.txt --requirement /build/packages.txt",
            # found by every process, judges with their scrubbed environment included
            f"echo {CODE} > $(python -c 'import site; print(site.getsitepackages()[0])')/kernel-grader.pth",
        )
        .run_commands(f"sh /build/fetch_tasks.sh {TASKS}", env=kernelbench)
        .env({"KERNEL_GRADER_CODE": CODE, "KERNELBENCH_DIR": TASKS, "PYTHONUNBUFFERED": "1"})
    )
    for name in FOLDERS:
        built = built.add_local_dir(HERE / name, f"{CODE}/{name}", ignore=["**/__pycache__", "**/*.pyc", "**/.env*"])
    for name in FILES:
        built = built.add_local_file(HERE / name, f"{CODE}/{name}")
    return built


gpu_image = image(
    modal.Image.from_registry(CUDA_IMAGE, add_python=PYTHON).apt_install("g++", "git", "ca-certificates"),
    everything=True,
)
service_image = image(
    modal.Image.debian_slim(python_version=PYTHON).apt_install("git", "ca-certificates"), everything=False
)

# API_KEY is the first key of trainers; every setting of docs/configuration.md may lie beside it
server_secret = modal.Secret.from_name("kernel-grader", required_keys=["API_KEY"])
# see docker/set_up.sh for what it does with them
api_secret = modal.Secret.from_name(
    "kernel-grader-api",
    required_keys=[
        "DATABASE_URL",
        "REDIS_URL",
        "KERNEL_ENV_SECRET",
        "API_KEY",
        "METRICS_KEY",
        "WORKER_DB_USER",
        "WORKER_DB_PASSWORD",
    ],
)
# the DATABASE_URL of the workers' own role; no key, no KERNEL_ENV_SECRET
worker_secret = modal.Secret.from_name("kernel-grader-worker", required_keys=["DATABASE_URL", "REDIS_URL"])

# the container's share of the host's cores, which a process sees all of
GPU_CPUS, GPU_MEMORY_MIB = 4.0, 32 * 1024
ON_GPU = {"KERNEL_ENV_EVALUATOR": "gpu", "KERNEL_ENV_GPUS": "0", "KERNEL_ENV_BUILDERS": "1"}
LISTENING = {"PORT": str(PORT), "KERNEL_ENV_BIND": "0.0.0.0"}


class Parts:
    """The processes of one container. Where one ends unasked, so does the container, and Modal starts another."""

    def __init__(self, *commands: Sequence[str]) -> None:
        self._stopping = threading.Event()
        self._running = [subprocess.Popen([sys.executable, "-m", *command], cwd=code()) for command in commands]
        for process, command in zip(self._running, commands, strict=True):
            threading.Thread(target=self._watch, args=[process, command[0]], daemon=True).start()

    def stop(self, within_s: float) -> None:
        """Ask all of them to end; kill what has not after that time."""
        self._stopping.set()
        for process in self._running:
            process.terminate()
        late = threading.Timer(within_s, lambda: [process.kill() for process in self._running])
        late.start()
        for process in self._running:
            process.wait()
        late.cancel()

    def _watch(self, process: "subprocess.Popen[bytes]", name: str) -> None:
        status = process.wait()
        if not self._stopping.is_set():
            print(f"{name} ended with status {status}; so does this container", file=sys.stderr, flush=True)
            os._exit(1)


def code() -> str:
    """Where this repository lies: on the machine of whoever deploys it, or in a container."""
    return os.environ.get("KERNEL_GRADER_CODE", str(HERE))


def once(*command: str, given: str = "") -> None:
    """Run a command to its end. Raises CalledProcessError."""
    subprocess.run(command, cwd=code(), input=given, text=True, check=True)


def start_server() -> Parts:
    """What `make run` starts. The database is brought up to date and told the key API_KEY first."""
    once(sys.executable, "-m", "launcher.migrate")
    adopt = ("keys", "adopt", "default", "--name", "first key", "--scope", "read", "--scope", "submit")
    once(sys.executable, "-m", "grading.cli", *adopt, given=os.environ["API_KEY"])
    return Parts(["launcher"])


def start_api() -> Parts:
    """The API and the reaper; schema, the workers' role and the keys first."""
    once("sh", "docker/set_up.sh")
    return Parts(["gunicorn", "-c", "python:app.gunicorn_conf", "app.wsgi:app"], ["workers.reaper"])


def start_worker() -> Parts:
    """The worker of one GPU, and a builder."""
    return Parts(["launcher.workers"], ["launcher.workers", "builders"])


app = modal.App("kernel-grader")


@app.server(
    image=gpu_image,
    gpu=GPU,
    secrets=[server_secret],
    cpu=GPU_CPUS,
    memory=GPU_MEMORY_MIB,
    env={**LISTENING, **ON_GPU, "KERNEL_ENV_DATA_DIR": DATA},
    volumes={DATA: modal.Volume.from_name("kernel-grader-data", create_if_missing=True)},
    port=PORT,
    unauthenticated=True,  # as far as Modal goes: the API asks for its own keys
    max_concurrency=REQUESTS_AT_ONCE,
    max_containers=1,  # the database is a file, and a volume has room for one writer
    scaledown_window=IDLE_S,
    startup_timeout=START_S,
    exit_grace_period=SERVER_STOP_S,
)
class Server:
    """One server on one GPU."""

    @modal.enter()
    def start(self) -> None:
        self.parts = start_server()

    @modal.exit()
    def stop(self) -> None:
        """What has not ended by then is graded after the next start."""
        self.parts.stop(SERVER_STOP_S)


split = modal.App("kernel-grader-split")


@split.server(
    image=service_image,
    secrets=[api_secret],
    env={**LISTENING, "KERNEL_ENV_DATA_DIR": "/tmp/kernel-grader"},
    port=PORT,
    unauthenticated=True,  # as far as Modal goes: the API asks for its own keys
    max_concurrency=REQUESTS_AT_ONCE,
    min_containers=1,  # the reaper runs beside it
    scaledown_window=IDLE_S,
    startup_timeout=START_S,
    exit_grace_period=SERVER_STOP_S,
)
class Api:
    """The API. Of several containers' reapers one acts."""

    @modal.enter()
    def start(self) -> None:
        self.parts = start_api()

    @modal.exit()
    def stop(self) -> None:
        """Requests that wait are answered as unfinished; clients ask again."""
        self.parts.stop(SERVER_STOP_S)


@split.cls(
    image=gpu_image,
    gpu=GPU,
    secrets=[worker_secret],
    cpu=GPU_CPUS,
    memory=GPU_MEMORY_MIB,
    env={**ON_GPU, "KERNEL_ENV_DATA_DIR": DATA, "KERNEL_ENV_DRAIN_S": str(WORKER_DRAIN_S)},
    min_containers=int(WORKERS),
    max_containers=int(WORKERS),
    startup_timeout=START_S,
    timeout=START_S,
)
class Worker:
    """One GPU. It takes its work from the queue, not from Modal."""

    @modal.enter()
    def start(self) -> None:
        self.parts = start_worker()

    @modal.method()
    def check(self) -> str:
        """Whether what runs in this container is well; if not, why."""
        command = [sys.executable, "-m", "launcher.workers", "--check"]
        return subprocess.run(command, cwd=code(), capture_output=True, text=True).stdout.strip()

    @modal.exit()
    def stop(self) -> None:
        """A grade that does not end in time is handed back, and costs nobody an attempt."""
        self.parts.stop(WORKER_STOP_S)
