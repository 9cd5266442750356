"""The statements of submit, poll and claim, as the database plans them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from app.services.queue_estimate import QueueEstimates
from grading import jobs, queries
from grading.db import Database
from grading.jobs import NewSubmission, SlotIdentity
from grading.settings import Leases

PROJECT = "default"
SECRET = b"a secret of the benchmark"
# how a plan says that it reads a table from one end to the other
FULL_SCANS = ("Seq Scan on ", "SCAN ")


def plans(db: Database, slot: SlotIdentity, builder: SlotIdentity, leases: Leases) -> dict[str, Any]:
    """For each operation its statements with their plans, and the full scans among them."""
    new = NewSubmission(PROJECT, "code", task_id="level1/19_ReLU", run_id="run-0")
    with captured(db, lambda: jobs.submit(db, SECRET, new)) as submit:
        waiting = submit.answer.row
    operations = {"submit": submit.statements}
    with captured(db, lambda: _poll(db, waiting.id)) as poll:
        operations["poll"] = poll.statements
    with captured(db, lambda: jobs.claim(db, slot.slot_id, slot.incarnation, leases)) as claim:
        operations["claim"] = claim.statements
    with captured(db, lambda: jobs.claim(db, builder.slot_id, builder.incarnation, leases)) as build:
        operations["claim_build"] = build.statements
    found = {name: [explained(db, *each) for each in statements] for name, statements in operations.items()}
    scans = {line.strip() for each in found.values() for one in each for line in one["plan"] if is_full_scan(line)}
    return {"full_scans": sorted(scans), "operations": found}


class Captured:
    """What an operation answered, and the statements that it sent."""

    answer: Any

    def __init__(self) -> None:
        self.statements: list[tuple[str, Any]] = []


@contextmanager
def captured(db: Database, operation: Callable[[], Any]) -> Iterator[Captured]:
    """Run an operation and note its statements."""
    found = Captured()

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH", "UPDATE", "INSERT")):
            found.statements.append((statement, parameters))

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        found.answer = operation()
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
    yield found


def explained(db: Database, statement: str, parameters: Any) -> dict[str, Any]:
    """A statement, shortened, and the lines of its plan."""
    explain = "EXPLAIN QUERY PLAN " if db.is_sqlite else "EXPLAIN "
    with db.read() as session:
        rows = session.connection().exec_driver_sql(explain + statement, parameters).all()
    return {"statement": " ".join(statement.split())[:300], "plan": [str(row[-1]) for row in rows]}


def is_full_scan(line: str) -> bool:
    return any(mark in line for mark in FULL_SCANS) and "submissions" in line and "USING" not in line


def _poll(db: Database, submission_id: str) -> None:
    """As the API does it, with the picture of the queue that it takes once a second."""
    with db.read() as session:
        row = queries.submission(session, PROJECT, submission_id)
    QueueEstimates(db).estimate(row)
