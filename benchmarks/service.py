"""What benchmarks of the service share: a server of their own, its facts, and percentiles."""

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx

from launcher.commands import REPOSITORY
from launcher.ports import free_port

START_S = 120.0
VERSIONS = ("celery", "kombu", "redis", "sqlalchemy", "psycopg", "flask", "gunicorn")
KERNEL = Path(__file__).parent / "kernels" / "triton" / "relu.py"
TASK = "level1/19_ReLU"


def facts(name: str) -> dict[str, Any]:
    """The head of a record: which benchmark, when, on which machine, with which versions."""
    return {
        "benchmark": name,
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in VERSIONS},
    }


@contextmanager
def server(data_dir: Path, **settings: str) -> Iterator[httpx.Client]:
    """A whole installation on a free port, ended afterwards; a client for it."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port), "KERNEL_ENV_DATA_DIR": str(data_dir / "data"), **settings}
    command = [sys.executable, "-m", "launcher"]
    with (data_dir / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=90, trust_env=False) as client:
            wait_until_up(client, process)
            yield client
    finally:
        process.terminate()
        process.wait(timeout=90)


def wait_until_up(client: httpx.Client, process: subprocess.Popen[bytes], workers: int = 1) -> None:
    """Return when the API answers and as many workers take work; raises RuntimeError when that does not happen."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            answer = client.get("/readyz")
            if answer.status_code == 200 and answer.json()["workers"] >= workers:
                return
        except httpx.TransportError:
            pass  # not up yet
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    ordered = sorted(seconds)
    at = {"p50": statistics.median(ordered), "p95": ordered[int(0.95 * len(ordered))]}
    at |= {"p99": ordered[int(0.99 * len(ordered))], "max": ordered[-1]}
    return {name: round(1000 * value, 2) for name, value in at.items()}
