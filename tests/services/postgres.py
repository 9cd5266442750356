"""A Postgres database of our own: on a server that runs already, else on one started from the system's packages."""

import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.services.ports import free_port
from tests.services.postgres_binaries import find_binaries, unprivileged, within_reach

START_S = 30.0
CONNECT_S = 3


@contextmanager
def database() -> Iterator[str]:
    """URL of an empty database with a name of its own, dropped afterwards."""
    with server() as admin_url:
        name = f"kernel_grader_test_{uuid.uuid4().hex[:12]}"
        execute(admin_url, f'CREATE DATABASE "{name}"')
        try:
            yield admin_url.rpartition("/")[0] + f"/{name}"
        finally:
            execute(admin_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def server() -> Iterator[str]:
    """URL of a database in which others may be created."""
    named = os.environ.get("TEST_DATABASE_URL")
    for url in [named] if named else candidates():
        if answers(url):
            yield url
            return
    if named:
        raise RuntimeError(f"TEST_DATABASE_URL: no Postgres answers at {named}")
    with own_server() as url:
        yield url


def candidates() -> list[str]:
    """The usual addresses of a local server that trusts local users."""
    users = dict.fromkeys(["postgres", getpass.getuser()])
    return [f"postgresql://{user}@127.0.0.1:5432/postgres" for user in users]


def answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_S) as connection:
            row = connection.execute("SELECT rolcreatedb FROM pg_roles WHERE rolname = current_user").fetchone()
    except psycopg.OperationalError:
        return False
    return bool(row and row[0])


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def own_server() -> Iterator[str]:
    """A server in a temporary folder, on a free port; root lends it an unprivileged user."""
    folder = Path(tempfile.mkdtemp(prefix="kernel-grader-pg-"))
    programs = within_reach(find_binaries(), folder)
    as_user: dict[str, Any] = {"cwd": folder}
    if (owner := unprivileged()) is not None:
        os.chown(folder, *owner)
        as_user |= {"user": owner[0], "group": owner[1], "extra_groups": []}
    port = free_port()
    data = folder / "data"
    init = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(init, check=True, capture_output=True, **as_user)
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    with (folder / "log").open("wb") as log:
        command = [str(programs / "postgres"), "-D", str(data), *options.split()]
        process = subprocess.Popen(command, stderr=log, **as_user)
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    try:
        wait_until_up(url)
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # fast shutdown: sessions that are left do not hold it up
        process.wait(START_S)
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_up(url: str) -> None:
    deadline = time.monotonic() + START_S
    while not answers(url):
        if time.monotonic() > deadline:
            raise RuntimeError(f"Postgres did not answer at {url} within {START_S:g} s")
        time.sleep(0.1)
