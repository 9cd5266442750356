"""What Prometheus is told about the queue, the slots and the endings, read from the database when it asks."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from structlog import get_logger

from app.services import counters
from app.services.counters import PREFIX
from app.services.tallies import DayTallies
from grading.clock import now_ms
from grading.db import Database
from grading.models import IS_CLAIMED, IS_UNFINISHED, IS_WAITING, Slot, Submission
from grading.queries import latest_canaries
from grading.states import UNFINISHED, SlotRole, SlotState

log = get_logger(__name__)

LOST = "lost"


class DatabaseCollector(Collector):
    """One look per scrape. Without the database there is one metric, which says so."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._today = DayTallies()

    def collect(self) -> Iterator[Metric]:
        try:
            with self._db.read() as session:
                found = [*_queue(session), *_slots(session), *_canaries(session)]
                found += counters.today(self._today.read(session))
        except SQLAlchemyError as error:
            log.warning("metrics_without_database", error=str(error).splitlines()[0])
            found = []
        yield GaugeMetricFamily(f"{PREFIX}_database_up", "Whether the database answered.", value=float(bool(found)))
        yield from found


def _queue(session: Session) -> Iterator[Metric]:
    now = now_ms(session)
    by_status = select(Submission.status, func.count()).where(IS_UNFINISHED).group_by(Submission.status)
    counts = dict.fromkeys(UNFINISHED, 0) | {status: count for status, count in session.execute(by_status)}  # noqa: C416
    unfinished = GaugeMetricFamily(f"{PREFIX}_unfinished", "Submissions that have not ended.", labels=["status"])
    for status, count in counts.items():
        unfinished.add_metric([str(status)], count)
    yield unfinished
    depth = GaugeMetricFamily(f"{PREFIX}_queue_depth", "Waiting submissions by queue.", labels=["queue"])
    age = GaugeMetricFamily(f"{PREFIX}_queue_oldest_seconds", "Age of the oldest waiting one.", labels=["queue"])
    served = select(Slot.queue).where(Slot.lease_until_ms > now)
    found = dict.fromkeys(session.scalars(served), (0, now))
    waiting = select(Submission.queue, func.count(), func.min(Submission.created_at_ms)).where(IS_WAITING)
    found |= {
        queue or "": (count, oldest_ms)
        for queue, count, oldest_ms in session.execute(waiting.group_by(Submission.queue))
    }
    for queue, (count, oldest_ms) in found.items():
        depth.add_metric([queue], count)
        age.add_metric([queue], max(now - oldest_ms, 0) / 1000)
    yield from (depth, age)


def _slots(session: Session) -> Iterator[Metric]:
    running = select(Submission.slot_id, func.count()).where(IS_CLAIMED).group_by(Submission.slot_id)
    running_at: dict[Any, int] = {slot_id: count for slot_id, count in session.execute(running)}  # noqa: C416
    slots = session.scalars(select(Slot)).all()
    now = now_ms(session)
    states = Counter((_state(slot, now), str(slot.role)) for slot in slots)
    by_state = GaugeMetricFamily(f"{PREFIX}_slots", "Slots by state and role.", labels=["state", "role"])
    for state in (*map(str, SlotState), LOST):
        for role in SlotRole:
            by_state.add_metric([state, str(role)], states[state, str(role)])
    yield by_state
    names = ["slot", "kind"]
    grades = GaugeMetricFamily(f"{PREFIX}_slot_running", "Grades that run in a slot.", labels=names)
    faults = CounterMetricFamily(f"{PREFIX}_slot_faults", "Faults of a slot's device.", labels=names)
    for slot in slots:
        grades.add_metric([slot.id, slot.kind], running_at.get(slot.id, 0))
        faults.add_metric([slot.id, slot.kind], slot.faults)
    lanes = GaugeMetricFamily(f"{PREFIX}_slot_lanes", "Grades that a slot may run at once.", labels=names)
    for slot in slots:
        lanes.add_metric([slot.id, slot.kind], slot.lanes)
    yield from (grades, faults, lanes)


def _state(slot: Slot, now: int) -> str:
    """As operators see it: what its worker last said, unless the worker is no longer heard of."""
    lost = slot.state is not SlotState.GONE and slot.lease_until_ms <= now
    return LOST if lost else str(slot.state)


def _canaries(session: Session) -> Iterator[Metric]:
    drift = GaugeMetricFamily(
        f"{PREFIX}_canary_drift_frac", "How far a known kernel is off its record.", labels=["slot"]
    )
    noise = GaugeMetricFamily(f"{PREFIX}_canary_noise_frac", "Spread of a known kernel's times.", labels=["slot"])
    throttled = GaugeMetricFamily(
        f"{PREFIX}_canary_throttled", "Whether the device slowed itself down.", labels=["slot"]
    )
    for slot_id, look in latest_canaries(session).items():
        drift.add_metric([slot_id], look.found.get("drift_frac") or 0.0)
        noise.add_metric([slot_id], look.found.get("noise_floor_frac") or 0.0)
        throttled.add_metric([slot_id], float(bool(look.found.get("throttle"))))
    yield from (drift, noise, throttled)
