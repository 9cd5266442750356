"""An address beyond the loopback is served with keys or not at all."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from grading.db import Database
from grading.keys import NewKey, make_key
from grading.migrate import upgrade
from launcher.commands import REPOSITORY
from launcher.ports import free_port
from launcher.process import tied

GUNICORN = [sys.executable, "-m", "gunicorn", "-c", "python:app.gunicorn_conf", "app.wsgi:app"]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'kernel-grader.db'}")
    upgrade(made)
    yield made
    made.dispose()


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    chosen = {"KERNEL_ENV_DATA_DIR": str(tmp_path), "KERNEL_ENV_EVALUATOR": "mock", "PORT": str(free_port()), **more}
    return {**os.environ, "DATABASE_URL": "", "REDIS_URL": "", **chosen}


@pytest.mark.parametrize(
    ("more", "arguments", "says"),
    [
        ({"KERNEL_ENV_BIND": "0.0.0.0"}, [], "There is no API key yet"),
        ({"KERNEL_ENV_BIND": "0.0.0.0", "KERNEL_ENV_AUTH": "0"}, [], "KERNEL_ENV_AUTH=0 is for the loopback alone"),
        ({}, ["-b", "0.0.0.0:0"], "There is no API key yet"),
    ],
)
def test_no_start_without_keys(
    db: Database, tmp_path: Path, more: dict[str, str], arguments: list[str], says: str
) -> None:
    done = subprocess.run(
        [*GUNICORN, *arguments],
        cwd=REPOSITORY,
        env=environment(tmp_path, **more),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 78, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_with_a_key_the_address_is_served_to_its_holder(db: Database, tmp_path: Path) -> None:
    token = make_key(db, NewKey("project", "trainer"))[1]
    environ = environment(tmp_path, KERNEL_ENV_BIND="0.0.0.0")
    with subprocess.Popen(GUNICORN, cwd=REPOSITORY, env=environ, preexec_fn=tied()) as server:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{environ['PORT']}", trust_env=False) as client:
                wait_until_up(client)
                assert client.get("/meta").status_code == 401
                assert client.get("/meta", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        finally:
            server.terminate()
            server.wait(30)


def wait_until_up(client: httpx.Client) -> None:
    for _ in range(300):
        try:
            assert client.get("/healthz").status_code == 200
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")
