"""The place of a waiting submission: exact near the front, near enough behind, on both databases."""

from app.services.queue_estimate import EXACT, STRIDE, QueueEstimates
from grading import jobs
from grading.db import Database
from grading.jobs import BatchItem, NewBatch, NewSubmission
from grading.models import Submission
from grading.states import Priority
from tests.grading.support import PROJECT, SECRET, TASK, submit

WAITING = EXACT + 3 * STRIDE


def fill(db: Database, count: int) -> list[Submission]:
    """Rows in the order in which they are to be graded."""
    new = NewSubmission(PROJECT, "code", task_id=TASK)
    items = [BatchItem(n, str(n), new) for n in range(count)]
    return list(jobs.create_batch(db, SECRET, NewBatch(PROJECT, items)).accepted)


def test_places(db: Database) -> None:
    rows = fill(db, WAITING)
    late = submit(db, priority=Priority.HIGH)
    queue = QueueEstimates(db)

    def place(row: Submission) -> int:
        estimate = queue.estimate(row)
        assert estimate is not None
        return int(estimate["position"])

    assert place(late) == 1
    assert [place(row) for row in rows[: EXACT - 1]] == list(range(2, EXACT + 1))
    far = [abs(place(row) - number) for number, row in enumerate(rows[EXACT:], EXACT + 2)]
    assert max(far) < STRIDE
    newer = submit(db)
    assert abs(place(newer) - WAITING) <= STRIDE, "it came in after the picture was taken"


def test_an_empty_queue(db: Database) -> None:
    queue = QueueEstimates(db)
    estimate = queue.estimate(submit(db))
    assert estimate == {"position": 1, "eta_s": None}
