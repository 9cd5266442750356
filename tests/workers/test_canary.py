"""A worker's canary: sung when the slot opens, again when it is due, written down, shown, and heeded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from grading.migrate import upgrade
from grading.models import Slot
from grading.queries import latest_canaries
from grading.states import SlotState
from tests.services.broker import Broker
from tests.services.installation import KERNEL, Installation, installation, wait_for


@pytest.fixture
def graded_on_cpu(session_broker: Broker, database_url: str, tmp_path: Path) -> Iterator[Installation]:
    settings = {"KERNEL_ENV_EVALUATOR": "cpu", "KERNEL_ENV_CANARY_S": "1", "KERNEL_ENV_IDLE_LOOK_S": "0.5"}
    with installation(database_url, session_broker, tmp_path, **settings) as made:
        upgrade(made.db)
        yield made


def canary(installed: Installation) -> dict[str, Any]:
    """What the only slot's canary found last; {} before its first look."""
    with installed.db.read() as session:
        return next((look.found for look in latest_canaries(session).values()), {})


def looks(installed: Installation) -> int:
    return int(canary(installed).get("history", {}).get("looks", 0))


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_it_sings_between_grades_and_everybody_may_hear(graded_on_cpu: Installation) -> None:
    worker = graded_on_cpu.start_worker()
    wait_for(lambda: looks(graded_on_cpu) >= 2, 120, "two looks", worker.tail)
    before = looks(graded_on_cpu)
    rows = [graded_on_cpu.submit(KERNEL) for _ in range(2)]
    ended = graded_on_cpu.wait_ended([row.id for row in rows], 180)
    assert [row.verdict for row in ended] == ["correct", "correct"]
    assert all((row.environment or {})["canary"]["noise_floor_frac"] >= 0 for row in ended)
    wait_for(lambda: looks(graded_on_cpu) > before, 60, "another look", worker.tail)
    found = canary(graded_on_cpu)
    assert set(found["kernels"]) == set(found["history"]["median_ms"]) == {"copy", "product"}


def test_a_device_that_fails_it_takes_no_more_work(installed: Installation) -> None:
    worker = installed.start_worker(KERNEL_ENV_CANARY_S="1", KERNEL_ENV_IDLE_LOOK_S="0.5")
    wait_for(lambda: looks(installed) >= 1, 60, "a look", worker.tail)
    sick = Path(installed.settings.evaluator_config().state_dir, "mock-0.sick")
    sick.parent.mkdir(parents=True, exist_ok=True)
    sick.touch()
    wait_for(lambda: state(installed) is SlotState.QUARANTINED, 60, "the quarantine", worker.tail)
    sick.unlink()
    wait_for(lambda: state(installed) is SlotState.READY, 120, "the return", worker.tail)


def state(installed: Installation) -> SlotState:
    with installed.db.read() as session:
        return session.scalars(select(Slot)).one().state
