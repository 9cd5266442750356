"""Where a waiting submission stands, roughly: `position` and `eta_s` are estimates and promise nothing."""

import threading
import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grading.clock import db_now_ms
from grading.db import Database
from grading.models import IS_WAITING, Slot, Submission
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
    """Answers from a picture of the queue that is about a second old, so that polling costs the same at any depth."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._refreshing = threading.Lock()
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
        """One request a second takes a new picture; the others use the one there is meanwhile."""
        snapshot = self._snapshot
        if snapshot is not None and time.monotonic() - snapshot.taken_at < FRESH_S:
            return snapshot
        if not self._refreshing.acquire(blocking=snapshot is None):
            return snapshot or self._fresh()
        try:
            if self._snapshot is snapshot:
                with self._db.read() as session:
                    self._snapshot = _take(session)
            assert self._snapshot is not None
            return self._snapshot
        finally:
            self._refreshing.release()


def eval_mean_s(session: Session) -> float | None:
    """What the last few grades took on average; None where nothing was graded yet."""
    recent = (
        select((Submission.finished_at_ms - Submission.claimed_at_ms).label("eval_ms"))
        .where(
            Submission.status == SubmissionStatus.COMPLETED,
            Submission.finished_at_ms <= db_now_ms(),
            Submission.deduped_from.is_(None),
        )
        .order_by(Submission.finished_at_ms.desc())
        .limit(SAMPLE)
        .subquery()
    )
    mean_ms = session.scalars(select(func.avg(recent.c.eval_ms))).one()
    return None if mean_ms is None else round(float(mean_ms) / 1000, 6)


def _take(session: Session) -> _Snapshot:
    waiting = session.execute(select(Submission.priority, Submission.id).where(IS_WAITING)).all()
    slots = select(func.count()).where(Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms())
    return _Snapshot(
        taken_at=time.monotonic(),
        waiting=sorted((priority, submission_id) for priority, submission_id in waiting),
        slots=session.scalars(slots).one(),
        eval_s=eval_mean_s(session),
    )
