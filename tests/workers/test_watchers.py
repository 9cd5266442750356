"""What Flower hears of a grade, and that a grade needs nobody to hear it."""

import threading
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from tests.services.installation import Installation, source, wait_for


def listen(installed: Installation) -> list[dict[str, Any]]:
    """A list to which the first event is added that says what a task grades."""
    heard: list[dict[str, Any]] = []
    app = Celery(broker=installed.broker.url, set_as_current=False)

    def run() -> None:
        with app.connection_for_read() as connection:
            receiver = app.events.Receiver(connection, handlers={"task-grading": heard.append})
            for _ in receiver.itercapture(limit=None, timeout=None, wakeup=False):
                if heard:
                    return

    threading.Thread(target=run, daemon=True).start()
    return heard


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_task_says_what_it_grades(installed: Installation) -> None:
    installed.start_worker()
    heard = listen(installed)
    rows = [installed.submit(source(salt=n)) for n in range(3)]
    installed.wait_ended([row.id for row in rows])
    wait_for(lambda: len(heard) > 0, 20, "an event")
    assert any(row.id in heard[0]["kwargs"] for row in rows)
    assert heard[0]["hostname"].startswith("mock-0@")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_log_that_cannot_be_written_costs_nothing(installed: Installation, tmp_path: Path) -> None:
    worker = installed.start_worker(KERNEL_ENV_EVAL_LOG="/dev/full")
    (ended,) = installed.wait_ended([installed.submit(source()).id])
    assert (ended.verdict, ended.attempt) == ("correct", 1)
    assert "evaluation_log_not_written" in worker.log.read_text()
