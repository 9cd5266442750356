"""Where a waiting submission stands, roughly: `position` and `eta_s` are estimates and promise nothing."""

import threading
import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grading.db import Database
from grading.models import Slot, Submission
from grading.states import WAITING, SlotState, SubmissionStatus

FRESH_S = 1.0
SAMPLE = 20


@dataclass(frozen=True)
class _Snapshot:
    """`waiting` holds (priority, id), sorted; `eval_s` is None where nothing was graded yet."""

    taken_at: float
    waiting: list[tuple[int, str]]
    slots: int
    eval_s: float | None


class QueueEstimates:
    """Answers from a picture of the queue that is at most a second old, so that polling costs the same at any depth."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lock = threading.Lock()
        self._snapshot: _Snapshot | None = None

    def estimate(self, row: Submission) -> dict[str, Any] | None:
        """Position by priority and age, and the time that as many recent grades took; None once it runs."""
        if row.status not in WAITING:
            return None
        snapshot = self._fresh()
        position = bisect_left(snapshot.waiting, (row.priority, row.id)) + 1
        eta_s = None
        if snapshot.eval_s is not None and snapshot.slots:
            eta_s = round(position * snapshot.eval_s / snapshot.slots, 3)
        return {"position": position, "eta_s": eta_s}

    def _fresh(self) -> _Snapshot:
        with self._lock:
            if self._snapshot is None or time.monotonic() - self._snapshot.taken_at > FRESH_S:
                with self._db.read() as session:
                    self._snapshot = _take(session)
            return self._snapshot


def _take(session: Session) -> _Snapshot:
    waiting = session.execute(
        select(Submission.priority, Submission.id).where(Submission.status.in_(WAITING))
    ).all()
    slots = session.scalars(select(func.count()).where(Slot.state == SlotState.READY)).one()
    recent = (
        select((Submission.finished_at_ms - Submission.claimed_at_ms).label("eval_ms"))
        .where(Submission.status == SubmissionStatus.COMPLETED)
        .order_by(Submission.id.desc())
        .limit(SAMPLE)
        .subquery()
    )
    mean_ms = session.scalars(select(func.avg(recent.c.eval_ms))).one()
    return _Snapshot(
        taken_at=time.monotonic(),
        waiting=sorted((priority, submission_id) for priority, submission_id in waiting),
        slots=slots,
        eval_s=None if mean_ms is None else float(mean_ms) / 1000,
    )
