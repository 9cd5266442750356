"""Whole servers with the mock evaluator over databases of their own, shared by the tests of this folder."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from grading.db import Database
from grading.keys import NewKey, make_key
from launcher.demo_server import OwnServer
from tests.services import postgres

TIMEOUT_S = 90  # exceeds every wait


@pytest.fixture(scope="session")
def server() -> Iterator[OwnServer]:
    with postgres.database() as url, OwnServer(KERNEL_ENV_EVALUATOR="mock", DATABASE_URL=url) as started:
        yield started


@pytest.fixture(scope="session")
def api(server: OwnServer) -> Iterator[httpx.Client]:
    """A client that keeps nobody's proxy settings."""
    with client(server.url) as made:
        yield made


@pytest.fixture(scope="session")
def embedded() -> Iterator[httpx.Client]:
    """A client of a server over SQLite."""
    with OwnServer(KERNEL_ENV_EVALUATOR="mock") as started, client(started.url) as made:
        yield made


@pytest.fixture(scope="module", params=["postgres", "sqlite"])
def either(request: pytest.FixtureRequest) -> httpx.Client:
    """A client of the one and then of the other."""
    found: httpx.Client = request.getfixturevalue("api" if request.param == "postgres" else "embedded")
    return found


@dataclass
class Keyed:
    """A server that answers to keys alone, and the database that its keys are made in."""

    url: str
    db: Database

    def key(self, project: str, *scopes: str, **limits: int) -> str:
        """A fresh key's token."""
        new = NewKey(project, f"{project} {scopes}", scopes or ("read", "submit"), **limits)
        return make_key(self.db, new)[1]

    def client(self, project: str, *scopes: str, **limits: int) -> httpx.Client:
        """A client with a fresh key; close it."""
        return client(self.url, {"Authorization": f"Bearer {self.key(project, *scopes, **limits)}"})


@pytest.fixture(scope="session")
def keyed() -> Iterator[Keyed]:
    settings = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_AUTH": "1"}
    settings |= {"KERNEL_ENV_BODY_S": "2", "KERNEL_ENV_ANSWER_S": "5"}
    with postgres.database() as url, OwnServer(DATABASE_URL=url, **settings) as started:
        db = Database(url.replace("postgresql://", "postgresql+psycopg://"))
        yield Keyed(started.url, db)
        db.dispose()


def client(url: str, headers: dict[str, str] | None = None) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False, headers=headers)
