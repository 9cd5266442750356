"""Who is next: priority with ageing, fair share between projects and runs, then age."""

from sqlalchemy import update

from grading import jobs
from grading.db import Database
from grading.jobs.order import AGING_MS
from grading.models import Submission
from grading.states import Priority
from tests.grading.support import must_claim, open_slot, report, row, submit


def grade_all(db: Database, count: int) -> list[str]:
    """Grade one after another on one slot; the order in which rows were taken."""
    slot = open_slot(db)
    taken = []
    for _ in range(count):
        found = must_claim(db, slot)
        jobs.finish(db, found.submission_id, found.fence, report())
        taken.append(found.submission_id)
    return taken


def make_older(db: Database, submission_id: str, ms: int) -> None:
    with db.write() as session:
        session.execute(
            update(Submission).where(Submission.id == submission_id).values(created_at_ms=Submission.created_at_ms - ms)
        )


def test_oldest_first(db: Database) -> None:
    ids = [submit(db).id for _ in range(5)]
    assert grade_all(db, 5) == ids


def test_priority_goes_first(db: Database) -> None:
    low, normal, high = (submit(db, priority=p).id for p in (Priority.LOW, Priority.NORMAL, Priority.HIGH))
    assert grade_all(db, 3) == [high, normal, low]


def test_waiting_raises_the_priority(db: Database) -> None:
    low = submit(db, priority=Priority.LOW, run_id="patient").id
    make_older(db, low, 2 * AGING_MS)
    others = [submit(db, run_id="pushy").id for _ in range(3)]
    assert grade_all(db, 4) == [low, *others]


def test_runs_take_turns(db: Database) -> None:
    many = [submit(db, run_id="many").id for _ in range(6)]
    few = [submit(db, run_id="few").id for _ in range(2)]
    taken = grade_all(db, 8)
    assert set(taken[:4]) == {*many[:2], *few}


def test_projects_take_turns_whatever_their_runs(db: Database) -> None:
    for run in range(3):
        for _ in range(3):
            submit(db, project_id="big", run_id=f"run-{run}")
    small = [submit(db, project_id="small").id for _ in range(2)]
    assert set(small) <= set(grade_all(db, 4))


def test_a_run_with_running_work_waits_for_one_without(db: Database) -> None:
    slots = [open_slot(db, f"gpu-{n}") for n in range(2)]
    for _ in range(3):
        submit(db, run_id="first")
    must_claim(db, slots[0])
    late = submit(db, run_id="second")
    assert must_claim(db, slots[1]).submission_id == late.id
    assert row(db, late.id).slot_id == "gpu-1"
