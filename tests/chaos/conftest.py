"""How large the chaos is, the installation that it happens to, and where its figures go.

Lean in every run of the suite, full for `make chaos`.
"""

import json
import os
import platform
import random
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.chaos.stage import DOOMED, Stage, stage
from tests.chaos.trainers import Trainer, trainer

# short enough for tests to wait for, long enough that a busy machine does not lose claims by itself
SETTINGS = {
    "KERNEL_ENV_LEASE_S": "2.5",
    "KERNEL_ENV_RENEW_S": "0.7",
    "KERNEL_ENV_REAP_S": "0.3",
    "KERNEL_ENV_SLOT_LEASE_S": "1.5",
    "KERNEL_ENV_IDLE_LOOK_S": "0.3",
    "KERNEL_ENV_DRAIN_S": "1",
    "KERNEL_ENV_DEAF_S": "15",
    "KERNEL_ENV_MOCK_EVAL_S": "0.05",
}
WORKERS = 2
GIVE_UP_S = 120.0
VERSIONS = ("celery", "kombu", "redis", "sqlalchemy", "psycopg", "flask", "gunicorn")


@dataclass(frozen=True)
class Scale:
    """`CHAOS=full` asks for everything; `CHAOS_SEED` repeats one sequence of kills."""

    full: bool
    seed: int

    def only(self, made: Stage, kinds: Collection[str]) -> None:
        """Leave the running test to `make chaos` unless the lean suite has it for this kind of database."""
        if not self.full and made.kind not in kinds:
            pytest.skip("left to `make chaos`")

    def pick(self, lean: int, full: int) -> int:
        return full if self.full else lean


@pytest.fixture(scope="session")
def scale() -> Scale:
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(2**31))
    return Scale(os.environ.get("CHAOS") == "full", seed)


@pytest.fixture(scope="session", params=["postgres", "sqlite"])
def one_stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """API, reaper, a builder and two workers, which can be told where to die; for all tests, as starting is slow."""
    with stage(request.param, tmp_path_factory.mktemp("chaos"), DOOMED, **SETTINGS) as made:
        made.add_api()
        made.add_reaper()
        made.add_builder(0)
        for number in range(WORKERS):
            made.add_worker(number, **lanes(number))
        yield made


def lanes(number: int) -> dict[str, str]:
    """Every other worker grades two submissions at once."""
    return {"KERNEL_ENV_LANES": str(1 + number % 2)}


@pytest.fixture
def made(one_stage: Stage) -> Iterator[Stage]:
    """The stage with all its parts well and nothing that waits to happen."""
    one_stage.wait_until_ready(WORKERS)
    yield one_stage
    one_stage.disarm()


@pytest.fixture
def client(made: Stage) -> Iterator[Trainer]:
    """A training run of the test's own."""
    with trainer(made.url, f"run-{uuid4().hex}", GIVE_UP_S) as run:
        yield run


@pytest.fixture(scope="session")
def figures() -> Iterator[dict[str, Any]]:
    """What the tests measured; written to the file CHAOS_RECORD where that is set. No test asserts any of it."""
    found: dict[str, Any] = {}
    yield found
    if path := os.environ.get("CHAOS_RECORD"):
        record = {
            "benchmark": "chaos",
            "date": time.strftime("%Y-%m-%d"),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
            "python": platform.python_version(),
            "versions": {name: metadata.version(name) for name in VERSIONS},
            "figures": found,
        }
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(record, indent=1) + "\n")
