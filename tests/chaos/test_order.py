"""Who is served when more waits than can be graded: runs share, `high` overtakes, `low` gets its turn."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update

from grading import jobs
from grading.jobs import NewSubmission
from grading.models import Attempt, Submission
from grading.states import Priority
from tests.chaos.audit import violations
from tests.chaos.conftest import WORKERS, Scale
from tests.chaos.stage import Stage
from tests.chaos.trainers import Trainer
from tests.services.installation import SECRET, TASK, source

TWENTY_MINUTES_MS = 20 * 60 * 1000
QUICK = "correct eval_s=0.05"


class Crowd:
    """A run that has queued up far more than is graded while the test lasts; the rest is cancelled at its end."""

    def __init__(self, made: Stage, project_id: str) -> None:
        self._made, self._project_id = made, project_id
        self.run_id = f"crowd-{uuid4().hex}"

    def queue(self, count: int, priority: Priority = Priority.NORMAL) -> list[str]:
        """Past the API, and left to idle slots to find."""
        return [self._submit(n, priority) for n in range(count)]

    def _submit(self, number: int, priority: Priority) -> str:
        code = source(QUICK, f"{priority} {number}")
        new = NewSubmission(self._project_id, code, task_id=TASK, run_id=self.run_id, priority=priority)
        return jobs.submit(self._made.db, SECRET, new).row.id

    def cancel(self) -> None:
        jobs.cancel_run(self._made.db, self._project_id, self.run_id)


@pytest.fixture
def crowd(made: Stage, client: Trainer) -> Iterator[Crowd]:
    """In the project of the client, whose first submission is graded already."""
    (first,) = made.installed.wait_ended([client.submit("first", source(QUICK))])
    found = Crowd(made, first.project_id)
    yield found
    found.cancel()
    assert violations(made.db) == []


def claims_during(made: Stage, ids: list[str]) -> int:
    """How many claims of anything fell between the arrival of the first and the end of the last of these."""
    with made.db.read() as session:
        ours = Submission.id.in_(ids)
        first, last = session.execute(
            select(func.min(Submission.created_at_ms), func.max(Submission.finished_at_ms)).where(ours)
        ).one()
        between = select(func.count()).select_from(Attempt).where(Attempt.started_at_ms.between(first, last))
        return session.scalars(between).one()


def waiting_at_claim(made: Stage, submission_id: str, others: list[str]) -> int:
    """How many of the others were claimed only after this one."""
    with made.db.read() as session:
        at = select(func.min(Attempt.started_at_ms)).where(Attempt.submission_id == submission_id)
        before = select(func.count(Attempt.submission_id.distinct())).where(
            Attempt.submission_id.in_(others), Attempt.started_at_ms < session.scalars(at).one()
        )
        return len(others) - session.scalars(before).one()


def test_a_small_run_beside_a_crowd(made: Stage, client: Trainer, crowd: Crowd, scale: Scale) -> None:
    """Runs take turns: ten of B need ten claims of A, and those that were made as B's came in and as its last ran."""
    crowd.queue(scale.pick(100, 500))
    with ThreadPoolExecutor(10) as pool:
        ids = list(pool.map(lambda n: client.submit(f"{n}", source(QUICK, n)), range(10)))
    made.installed.wait_ended(ids)
    assert claims_during(made, ids) <= 20 + 5 * WORKERS


def test_high_overtakes(made: Stage, client: Trainer, crowd: Crowd) -> None:
    normal = crowd.queue(40)
    high = client.submit("high", source(QUICK), priority="high")
    made.installed.wait_ended([high])
    assert waiting_at_claim(made, high, normal) >= 20


def test_low_does_not_starve(made: Stage, client: Trainer, crowd: Crowd) -> None:
    """A fresh one waits for all that is `high`; one that has waited for as long as two classes is served among them."""
    high = crowd.queue(40, Priority.HIGH)
    aged = client.submit("aged", source(QUICK, "aged"), priority="low")
    with made.db.write() as session:
        older = {"created_at_ms": Submission.created_at_ms - TWENTY_MINUTES_MS}
        session.execute(update(Submission).where(Submission.id == aged).values(older))
    (fresh,) = crowd.queue(1, Priority.LOW)
    made.installed.wait_ended([fresh, aged])
    assert waiting_at_claim(made, aged, high) >= 10
    assert waiting_at_claim(made, fresh, high) == 0
