"""The API alone, for benchmarks of it: a database and a broker of its own, its processes, a slot that is us."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.overhead import database
from benchmarks.service import wait_until_up
from grading.db import Database
from grading.migrate import upgrade
from grading.settings import Settings
from launcher.commands import REPOSITORY
from launcher.ports import free_port
from tests.services.broker import broker


@dataclass(frozen=True)
class Api:
    """`db` is the database under it and `redis_url` its broker; no worker takes what it takes in."""

    port: int
    db: Database
    redis_url: str
    pid: int

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=90, trust_env=False)


@contextmanager
def api(kind: str = "postgres", processes: int = 2) -> Iterator[Api]:
    """A running API over an empty, migrated database; everything is gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-api-")))
        bells = stack.enter_context(broker())
        settings = {"KERNEL_ENV_DATA_DIR": str(folder), "REDIS_URL": bells.url, "KERNEL_ENV_EVALUATOR": "mock"}
        settings |= {"KERNEL_ENV_API_PROCESSES": str(processes), "PORT": str(free_port())}
        settings |= stack.enter_context(database(kind))
        db = Database(Settings.load(settings).database_url)
        stack.callback(db.dispose)
        upgrade(db)
        yield stack.enter_context(_running(settings, db, folder))


@contextmanager
def _running(settings: dict[str, str], db: Database, folder: Path) -> Iterator[Api]:
    command = [sys.executable, "-m", "gunicorn", "-c", "python:app.gunicorn_conf", "app.wsgi:app"]
    with (folder / "api.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, **settings}, stdout=log, stderr=log)
    made = Api(int(settings["PORT"]), db, settings["REDIS_URL"], process.pid)
    try:
        with closing(made.client()) as client:
            wait_until_up(client, process, workers=0)
        yield made
    finally:
        process.terminate()
        process.wait(30)
