"""A Postgres database of our own: on a server that runs already, else on one started from the system's packages."""

import getpass
import os
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from tests.services.postgres_server import PostgresServer, answers


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


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def own_server() -> Iterator[str]:
    """A server in a temporary folder, on a free port."""
    with closing(PostgresServer()) as started:
        started.start()
        yield started.url
