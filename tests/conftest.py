"""Fixtures that every house's tests share: real databases of both kinds, a real broker, installations of them."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from grading.db import Database
from grading.migrate import upgrade
from grading.models import Base
from tests.services import broker as broker_service
from tests.services import postgres
from tests.services.broker import Broker
from tests.services.distribution import ByServers
from tests.services.installation import Installation, installation


def pytest_configure() -> None:
    """SIGTERM does what Ctrl-C does: a run in one process (JOBS=0) stops every server that it started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """In a parallel run every process has databases, brokers and servers of its own."""
    return ByServers(config, log)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A migrated Postgres database of this session."""
    with postgres.database() as url:
        url = url.replace("postgresql://", "postgresql+psycopg://")
        db = Database(url)
        upgrade(db)
        db.dispose()
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    db = Database(f"sqlite:///{path}")
    upgrade(db)
    db.dispose()
    return path


@pytest.fixture(params=["postgres", "sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty, migrated database; a test that asks for it runs on both kinds."""
    if request.param == "sqlite":
        path = tmp_path / "test.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        return f"sqlite:///{path}"
    url: str = request.getfixturevalue("postgres_url")
    empty(url)
    return url


def empty(url: str) -> None:
    """Remove all rows from a migrated Postgres database."""
    db = Database(url)
    with db.write() as session:
        session.execute(text(f"TRUNCATE {', '.join(table.name for table in Base.metadata.sorted_tables)}"))
    db.dispose()


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    """Both databases in turn."""
    database = Database(database_url)
    yield database
    database.dispose()


@pytest.fixture(scope="session")
def session_broker() -> Iterator[Broker]:
    with broker_service.broker() as server:
        yield server


@pytest.fixture
def broker(session_broker: Broker) -> Broker:
    """A broker that holds nothing, and is started again if the last test killed it."""
    session_broker.kill()
    session_broker.start()
    return session_broker


@pytest.fixture
def installed(database_url: str, broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    """An installation with the mock evaluator and short leases; the test starts the processes that it needs."""
    with installation(database_url, broker, tmp_path) as made:
        yield made
