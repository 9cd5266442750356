"""What canaries found, by slot: bounded, with a summary, and only from the worker that holds the slot."""

import time
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import select

from grading import jobs
from grading.db import Database
from grading.errors import FenceLost
from grading.jobs import canaries
from grading.models import Canary
from grading.queries import latest_canaries
from tests.grading.support import open_slot


def found(median_ms: float, **more: Any) -> dict[str, Any]:
    kernel = {"median_ms": median_ms, "record_ms": 1.0, "noise_frac": 0.001, "drift_frac": median_ms - 1}
    return {"kernels": {"copy": kernel}, "noise_floor_frac": 0.001, "drift_frac": median_ms - 1} | more


def kept(db: Database) -> dict[str, int]:
    with db.read() as session:
        return Counter(session.scalars(select(Canary.slot_id)))


def latest(db: Database) -> dict[str, dict[str, Any]]:
    with db.read() as session:
        return {slot_id: look.found for slot_id, look in latest_canaries(session).items()}


def note(db: Database, name: str, *looks: dict[str, Any]) -> None:
    for look in looks:
        time.sleep(0.005)  # looks of one slot are told apart by the millisecond
        jobs.note_canary(db, name, "first", look)


def test_each_look_is_kept_with_a_summary_of_all(db: Database) -> None:
    open_slot(db)
    note(db, "gpu-0", found(1.0), found(1.5, throttle=["power_cap"]), found(1.2, throttle=[]))
    assert kept(db) == {"gpu-0": 3}
    history = latest(db)["gpu-0"]["history"]
    assert history.pop("since")
    assert history == {
        "looks": 3,
        "median_ms": {"copy": 1.2},
        "noise_floor_frac": 0.001,
        "drift_frac_max": 0.5,
        "throttled": 1,
    }


def test_the_oldest_looks_are_forgotten_slot_by_slot(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canaries, "KEPT_MAX", 4)
    for name in ("gpu-0", "gpu-1"):
        open_slot(db, name)
    note(db, "gpu-1", found(9.0))
    note(db, "gpu-0", *(found(1.0 + number) for number in range(7)))
    assert kept(db) == {"gpu-0": 4, "gpu-1": 1}
    history = latest(db)["gpu-0"]["history"]
    assert (history["looks"], history["median_ms"]["copy"]) == (4, 5.5)
    assert latest(db)["gpu-1"]["kernels"]["copy"]["median_ms"] == 9.0


def test_only_the_worker_that_holds_the_slot_may_write(db: Database) -> None:
    open_slot(db)
    with pytest.raises(FenceLost):
        jobs.note_canary(db, "gpu-0", "another", found(1.0))
    with pytest.raises(FenceLost):
        jobs.note_canary(db, "gpu-9", "first", found(1.0))
    assert kept(db) == {}


def test_the_mock_finds_nothing_to_measure(db: Database) -> None:
    open_slot(db)
    note(db, "gpu-0", {"kernels": {}, "noise_floor_frac": 0.0, "drift_frac": 0.0, "mock": True})
    assert latest(db)["gpu-0"]["history"]["median_ms"] == {}
