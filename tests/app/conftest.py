"""A whole server with the mock evaluator over a Postgres database of its own, shared by the tests of this folder."""

from collections.abc import Iterator

import httpx
import pytest

from launcher.demo_server import OwnServer
from tests.services import postgres


@pytest.fixture(scope="session")
def server() -> Iterator[OwnServer]:
    with postgres.database() as url, OwnServer(KERNEL_ENV_EVALUATOR="mock", DATABASE_URL=url) as started:
        yield started


@pytest.fixture(scope="session")
def api(server: OwnServer) -> Iterator[httpx.Client]:
    """A client that keeps nobody's proxy settings; time-outs exceed every wait."""
    with httpx.Client(base_url=server.url, timeout=90, trust_env=False) as client:
        yield client
