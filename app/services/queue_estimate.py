"""Where a waiting submission stands, roughly: `position` and `eta_s` are estimates and promise nothing."""

import threading
import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from structlog import get_logger

from grading.clock import db_now_ms
from grading.db import Database
from grading.models import IS_WAITING, Slot, Submission
from grading.states import WAITING, SlotRole, SlotState, SubmissionStatus

log = get_logger(__name__)

FRESH_S = 1.0
STALE_S = 5.0
SAMPLE = 20
# places up to here are exact; beyond, every so manyth row is known
EXACT = 1000
STRIDE = 100


@dataclass(frozen=True)
class _Snapshot:
    """`waiting` holds (priority, id) of some rows, sorted, and `places` theirs; `eval_s` is None before any grade."""

    taken_at: float
    waiting: list[tuple[int, str]]
    places: list[int]
    slots: int
    eval_s: float | None

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.taken_at

    def place(self, row: Submission) -> int:
        """1 is next; of a row that came in since, the one after the last that is known."""
        index = bisect_left(self.waiting, (row.priority, row.id))
        if index < len(self.waiting) and self.waiting[index] == (row.priority, row.id):
            return self.places[index]
        return self.places[index - 1] + 1 if index else 1


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
        snapshot = self._recent()
        position = snapshot.place(row)
        eta_s = None
        if snapshot.eval_s is not None and snapshot.slots:
            eta_s = round(position * snapshot.eval_s / snapshot.slots, 3)
        return {"position": position, "eta_s": eta_s}

    def _recent(self) -> _Snapshot:
        """The picture there is, while a new one is taken beside the requests; they wait only for one after a pause."""
        snapshot = self._snapshot
        if snapshot is None or snapshot.age_s > STALE_S:
            with self._refreshing:
                if self._snapshot is snapshot:
                    self._refresh()
                assert self._snapshot is not None
                return self._snapshot
        if snapshot.age_s > FRESH_S and self._refreshing.acquire(blocking=False):
            threading.Thread(target=self._refresh_beside, name="queue-picture", daemon=True).start()
        return snapshot

    def _refresh_beside(self) -> None:
        try:
            self._refresh()
        except SQLAlchemyError as error:
            log.warning("queue_not_seen", error=repr(error))
        finally:
            self._refreshing.release()

    def _refresh(self) -> None:
        with self._db.read() as session:
            self._snapshot = _take(session)


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
    """The database counts, and few rows come here: sorting all of them would hold up every request of the process."""
    place = func.row_number().over(order_by=(Submission.priority, Submission.id)).label("place")
    # the condition on the lane leads SQLite to the index of waiting rows, past all that have ended
    queue = select(Submission.priority, Submission.id, place).where(IS_WAITING, Submission.lane > "").subquery()
    known = or_(queue.c.place <= EXACT, queue.c.place % STRIDE == 0)
    rows = session.execute(select(queue).where(known).order_by(queue.c.place)).all()
    slots = select(func.count()).where(
        Slot.role == SlotRole.GRADER, Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms()
    )
    return _Snapshot(
        taken_at=time.monotonic(),
        waiting=[(priority, submission_id) for priority, submission_id, _ in rows],
        places=[number for _, _, number in rows],
        slots=session.scalars(slots).one(),
        eval_s=eval_mean_s(session),
    )
