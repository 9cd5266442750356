"""Logs: JSON for programs, colours for a terminal, and neither sources nor secrets in what fails."""

import json
import os
import pty
import subprocess
import sys

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from grading.db import Database

MARKER = "a-source-that-nobody-else-may-read"
PROGRAM = """
from structlog import get_logger
from structlog.contextvars import bound_contextvars
from grading.logs import set_up
from grading.settings import load
set_up(load())
with bound_contextvars(submission_id="sub_1", attempt=2):
    get_logger("a.logger").info("an_event", number=3)
try:
    1 / 0
except ZeroDivisionError:
    get_logger("a.logger").exception("a_fault")
"""


def run_in_terminal(**environment: str) -> str:
    """What the program shows to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(command, stdout=theirs, env={**environ, **environment}) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                break
            shown += part
        process.wait(60)
    os.close(ours)
    return shown.decode()


def test_programs_read_one_json_line_per_event() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    event, fault = [json.loads(line) for line in done.stdout.splitlines()]
    assert (event["event"], event["number"], event["submission_id"], event["attempt"]) == ("an_event", 3, "sub_1", 2)
    assert event["level"] == "info"
    assert "ZeroDivisionError" in fault["exception"]
    assert "attempt" not in fault


def test_a_terminal_shows_colours_unless_it_is_asked_not_to() -> None:
    coloured = run_in_terminal()
    assert "\x1b[" in coloured
    assert "an_event" in coloured
    assert "Traceback" in coloured
    plain = run_in_terminal(NO_COLOR="1")
    assert "\x1b[" not in plain
    assert "submission_id=sub_1" in plain


def test_a_failing_statement_does_not_tell_its_parameters(db: Database) -> None:
    with pytest.raises(SQLAlchemyError) as failed, db.write() as session:
        session.execute(text("INSERT INTO no_such_table (code) VALUES (:code)"), {"code": MARKER})
    assert MARKER not in f"{failed.value} {failed.value!r}"
