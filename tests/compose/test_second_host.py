"""A worker host that has the addresses of database and broker, a role of its own and its GPU list, and nothing else."""

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import select

from grading import roles
from grading.db import Database
from grading.migrate import upgrade
from grading.models import Slot
from grading.states import SlotState
from tests.compose.second_host import Certificate, NotHere, SecondHost, TlsBroker, start_database
from tests.services import postgres
from tests.services.installation import REPOSITORY, SHORT, Installation, source, wait_for
from tests.services.postgres_server import PostgresServer

# what somebody on a worker host could try with what is there
PROGRAM = """
import os, psycopg, redis
url = os.environ["DATABASE_URL"]
with psycopg.connect(url) as connection:
    try:
        connection.execute("SELECT * FROM api_keys")
        print("keys are told")
    except psycopg.errors.InsufficientPrivilege:
        print("keys are kept")
try:
    psycopg.connect(url.replace("verify-full", "disable"))
    print("in the open")
except psycopg.OperationalError:
    print("TLS alone")
try:
    redis.Redis.from_url(os.environ["REDIS_URL"].partition("&")[0]).ping()
    print("any broker is believed")
except redis.exceptions.ConnectionError:
    print("the broker proves itself")
"""


@pytest.fixture
def second(tmp_path: Path) -> Iterator[tuple[Installation, SecondHost, dict[str, str]]]:
    """The installation here, the other host, and all that the other host is told."""
    with ExitStack() as stack:
        try:
            host = SecondHost()
            stack.callback(host.close)
            certificate = Certificate(tmp_path, host.here)
            broker = TlsBroker(host, certificate, tmp_path)
            stack.callback(broker.kill)
        except NotHere as error:
            pytest.skip(f"no second host: {error}")
        server = PostgresServer()
        stack.callback(server.close)
        start_database(server, host, certificate)
        postgres.execute(server.url, "CREATE DATABASE grader")
        owner = server.url.rpartition("/")[0] + "/grader"
        role, password = "grader_worker", secrets.token_hex(16)
        db = Database(owner)
        upgrade(db)
        with db.engine.connect() as connection:
            roles.apply(connection, roles.statements(role, password=password))
        db.dispose()
        (tmp_path / "here").mkdir()
        settings = {"KERNEL_ENV_EVALUATOR": "mock", "REDIS_URL": broker.url, **SHORT}
        here = {**settings, "DATABASE_URL": owner, "KERNEL_ENV_DATA_DIR": str(tmp_path / "here")}
        made = Installation(here, tmp_path, broker)
        stack.callback(made.close)
        address = f"{host.here}:{server.port}/grader?sslmode=verify-full&sslrootcert={certificate.path}"
        told = {
            "DATABASE_URL": f"postgresql://{role}:{password}@{address}",
            "KERNEL_ENV_DATA_DIR": str(tmp_path / "there"),
            "KERNEL_ENV_HOST": "second",
            "KERNEL_ENV_GPUS": "0,3",
            "PATH": "/usr/bin:/bin",
        }
        yield made, host, {**settings, **told}


def test_a_host_joins_with_two_addresses_a_role_and_its_gpus(
    second: tuple[Installation, SecondHost, dict[str, str]],
) -> None:
    here, host, told = second
    joined = here.start(["-m", "launcher.workers"], "second", {}, host.prefix(told))

    def ready() -> set[int]:
        with here.db.read() as session:
            return set(session.scalars(select(Slot.number).where(Slot.host == "second", Slot.state == SlotState.READY)))

    wait_for(lambda: ready() == {0, 3}, 60, "two slots", joined.tail)
    rows = here.wait_ended([here.submit(source(salt=number)).id for number in range(4)])
    assert [row.verdict for row in rows] == ["correct"] * 4
    assert {row.slot_id for row in rows} <= {"mock-second-0", "mock-second-3"}
    command = [*host.prefix(told), sys.executable, "-c", PROGRAM]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert found.stdout.splitlines() == ["keys are kept", "TLS alone", "the broker proves itself"], found.stderr
    command = [*host.prefix(told), sys.executable, "-m", "grading.cli", "doctor", "--json"]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    checks = {check["name"]: check["state"] for check in json.loads(found.stdout)}
    parts = ("database", "migrations", "keys", "workers", "reaper")
    assert {name: checks[name] for name in parts} == dict.fromkeys(parts, "ok"), found.stdout
    joined.terminate()
    assert ready() == set()
