"""What all tests of the states share."""

import pytest

from grading.jobs import bells


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a test may stand still for longer than a bell travels: these judge no bell by its age alone."""
    monkeypatch.setattr(bells, "BELL_TRAVEL_MS", 30_000)
    monkeypatch.setattr(bells, "OVERLOOKED_MS", 30_000)
