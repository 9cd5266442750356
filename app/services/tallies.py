"""Tallies of what ended today (UTC), for Prometheus: verdicts, waits, phases, attempts, busy time, builds, refusals.

Every process starts its count at the same midnight, so that scrapes answered by different processes agree; to
Prometheus the midnight is one more reset of a counter.
"""

import json
import re
import threading
from collections import Counter
from typing import Any

from sqlalchemy import ColumnElement, Float, and_, case, cast, func, select
from sqlalchemy.orm import Session

from evaluator.verdicts import Verdict
from grading.clock import now_ms
from grading.models import Attempt, Submission

DAY_MS = 86_400_000
# endings are stamped before they are committed: what is older than this has been committed or never will be
SETTLED_MS = 60_000
WAIT_BUCKETS_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
PHASE_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
# phases whose names a submission had a part in are left out: their number has no bound
PHASE_NAME = re.compile(r"[a-z_]{1,40}")

Tally = Counter[tuple[str, ...]]


class DayTallies:
    """Counts by (what, labels …). What is settled is counted once and remembered, so that a look stays cheap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: Tally = Counter()
        self._until_ms = 0

    def read(self, session: Session) -> Tally:
        with self._lock:
            now = now_ms(session)
            midnight_ms = now - now % DAY_MS
            if self._until_ms < midnight_ms:
                self._settled, self._until_ms = Counter(), midnight_ms
            settled_ms = max(now - SETTLED_MS, self._until_ms)
            self._settled += count(session, self._until_ms, settled_ms)
            self._until_ms = settled_ms
            return self._settled + count(session, settled_ms, None)


def count(session: Session, after_ms: int, until_ms: int | None) -> Tally:
    """Everything about submissions that ended in that time."""
    ended = Submission.finished_at_ms > after_ms
    if until_ms is not None:
        ended = and_(ended, Submission.finished_at_ms <= until_ms)
    tally: Tally = Counter()
    for part in (_endings, _waits, _phases, _attempts, _builds, _refusals):
        tally += part(session, ended)
    return tally


def _endings(session: Session, ended: ColumnElement[bool]) -> Tally:
    """By status and verdict, which is empty where there is none."""
    found = select(Submission.status, Submission.verdict, func.count()).where(ended)
    rows = session.execute(found.group_by(Submission.status, Submission.verdict))
    return Counter({("endings", str(status), str(verdict or "")): count for status, verdict, count in rows})


def _waits(session: Session, ended: ColumnElement[bool]) -> Tally:
    wait_s = cast(Submission.started_at_ms - Submission.created_at_ms, Float) / 1000
    columns: list[Any] = [func.count(), func.sum(wait_s), *_buckets(wait_s, WAIT_BUCKETS_S)]
    row = session.execute(select(*columns).where(ended, Submission.started_at_ms.is_not(None))).one()
    return _histogram("wait", (), WAIT_BUCKETS_S, row)


def _phases(session: Session, ended: ColumnElement[bool]) -> Tally:
    each = func.jsonb_each_text if session.get_bind().dialect.name == "postgresql" else func.json_each
    phase = each(Submission.phases).table_valued("key", "value")
    phase_s = cast(phase.c.value, Float)
    columns: list[Any] = [phase.c.key, func.count(), func.sum(phase_s), *_buckets(phase_s, PHASE_BUCKETS_S)]
    found = select(*columns).select_from(Submission).join(phase, ended).where(ended).group_by(phase.c.key)
    tally: Tally = Counter()
    for name, *row in session.execute(found):
        if PHASE_NAME.fullmatch(name):
            tally += _histogram("phase", (name,), PHASE_BUCKETS_S, row)
    return tally


def _attempts(session: Session, ended: ColumnElement[bool]) -> Tally:
    busy_ms = func.sum(Attempt.ended_at_ms - Attempt.started_at_ms)
    of_those = select(Attempt.kind, Attempt.outcome, Attempt.slot_id, func.count(), busy_ms).join(Submission)
    tally: Tally = Counter()
    grouped = of_those.where(ended, Attempt.outcome.is_not(None))
    rows = session.execute(grouped.group_by(Attempt.kind, Attempt.outcome, Attempt.slot_id))
    for kind, outcome, slot_id, number, held_ms in rows:
        tally["attempts", kind, str(outcome)] += number
        tally["busy_ms", slot_id, kind] += int(held_ms or 0)
    return tally


def _builds(session: Session, ended: ColumnElement[bool]) -> Tally:
    """Extensions, by whether a builder's cache had them."""
    sums = [func.sum(Submission.builds[name].as_integer()) for name in ("found", "compiled")]
    found, compiled = session.execute(select(*sums).where(ended, Submission.builds.is_not(None))).one()
    return Counter({("extensions", "hit"): int(found or 0), ("extensions", "miss"): int(compiled or 0)})


def _refusals(session: Session, ended: ColumnElement[bool]) -> Tally:
    """By the rules that the results name; one submission may break several."""
    rules = Submission.result["rules"].as_string().label("rules")
    broken = select(rules).where(ended, Submission.verdict != Verdict.CORRECT).subquery()
    tally: Tally = Counter()
    for listed, number in session.execute(select(broken.c.rules, func.count()).group_by(broken.c.rules)):
        for rule in json.loads(listed or "[]"):  # releases before this one named none
            tally["refusals", rule] += number
    return tally


def _buckets(value: ColumnElement[Any], bounds: tuple[float, ...]) -> list[ColumnElement[int]]:
    return [func.sum(case((value <= bound, 1), else_=0)) for bound in bounds]


def _histogram(what: str, labels: tuple[str, ...], bounds: tuple[float, ...], row: object) -> Tally:
    """`row` is (count, sum, one cumulative count per bound)."""
    number, total, *counts = [value or 0 for value in row]  # type: ignore[attr-defined]
    tally: Tally = Counter({(f"{what}_count", *labels): number, (f"{what}_sum", *labels): total})
    tally.update({(f"{what}_bucket", *labels, str(bound)): n for bound, n in zip(bounds, counts, strict=True)})
    return tally
