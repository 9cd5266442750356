"""The queue and the slots as operators and trainers see them, over all projects."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.context import Context
from app.services.queue_estimate import eval_mean_s
from grading.clock import db_now_ms, now_ms, to_rfc3339
from grading.models import IS_CLAIMED, IS_WAITING, Canary, Slot, Submission
from grading.queries import latest_canaries
from grading.states import Priority, SlotRole, SlotState, SubmissionStatus

RECENT = 100


def queue_state(ctx: Context) -> dict[str, Any]:
    """Depth and age per queue, and about how long a new submission would wait."""
    with ctx.db.read() as session:
        now, slots = now_ms(session), _slots(session)
        waiting = _waiting(session)
        running = _running(session)
        priorities = dict.fromkeys(Priority, 0) | _by_priority(session)
        mean_s = eval_mean_s(session)
    serving = [slot for slot in slots if slot.state is SlotState.READY and slot.lease_until_ms > now]
    graders = sum(slot.role is SlotRole.GRADER for slot in serving)
    running_by_queue: Counter[str] = Counter()  # builders share one
    for slot in slots:
        running_by_queue[slot.queue] += running.get(slot.id, 0)
    named = sorted({slot.queue for slot in serving} | {name for name in waiting if name})
    queues: list[str | None] = [*named, *([None] if None in waiting else [])]
    depth = sum(count for count, _ in waiting.values())
    oldest = min((stamp for _, stamp in waiting.values()), default=None)
    return {
        "waiting": depth,
        "running": sum(running.values()),
        "oldest_age_s": _age_s(now, oldest),
        "by_priority": {priority.name.lower(): count for priority, count in priorities.items()},
        "slots": graders,
        "eval_mean_s": mean_s,
        "eta_s": _eta_s(priorities, graders, mean_s),
        "queues": [
            {
                "queue": name,
                "waiting": waiting.get(name, (0, None))[0],
                "running": running_by_queue[name or ""],
                "oldest_age_s": _age_s(now, waiting.get(name, (0, None))[1]),
            }
            for name in queues
        ],
    }


def workers(ctx: Context) -> dict[str, Any]:
    """Every slot with its health, and the walls that its latest verdict was reached behind."""
    with ctx.db.read() as session:
        now, slots = now_ms(session), _slots(session)
        waiting, running = _waiting(session), _running(session)
        latest = _latest_environments(session)
        canaries = latest_canaries(session)
    return {
        "data": [
            _worker(slot, now, waiting.get(slot.queue, (0, None))[0], running.get(slot.id, 0), latest.get(slot.id, {}))
            | _canary(slot, canaries.get(slot.id))
            for slot in slots
        ]
    }


def _worker(slot: Slot, now: int, waiting: int, running: int, latest: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": slot.id,
        "role": slot.role,
        "kind": slot.kind,
        "evaluator": slot.evaluator,
        "host": slot.host,
        "number": slot.number,
        "queue": slot.queue,
        "state": slot.state,
        "reason": slot.reason,
        "state_since": to_rfc3339(slot.state_at_ms),
        "alive": slot.state is not SlotState.GONE and slot.lease_until_ms > now,
        "held": slot.held,
        "lanes": slot.lanes,
        "running": running,
        "waiting": waiting,
        "faults": slot.faults,
        "last_fault": slot.fault,
        "last_fault_at": to_rfc3339(slot.fault_at_ms),
        "isolation": slot.environment.get("isolation") or latest.get("isolation"),
        "environment": slot.environment,
    }


def _canary(slot: Slot, latest: Canary | None) -> dict[str, Any]:
    """What the last probe and the last look of the canary found."""
    if latest is None:
        return {"canary": slot.probe, "canary_at": to_rfc3339(slot.probed_at_ms)}
    at_ms = max(latest.at_ms, slot.probed_at_ms or 0)
    return {"canary": {**(slot.probe or {}), **latest.found}, "canary_at": to_rfc3339(at_ms)}


def _slots(session: Session) -> Sequence[Slot]:
    return session.scalars(select(Slot).order_by(Slot.id)).all()


def _waiting(session: Session) -> dict[str | None, tuple[int, int]]:
    """(how many, since when the oldest) by queue."""
    rows = session.execute(
        select(Submission.queue, func.count(), func.min(Submission.created_at_ms))
        .where(IS_WAITING)
        .group_by(Submission.queue)
    )
    return {queue: (count, oldest) for queue, count, oldest in rows}


def _running(session: Session) -> dict[str, int]:
    rows = session.execute(select(Submission.slot_id, func.count()).where(IS_CLAIMED).group_by(Submission.slot_id))
    return {str(slot_id): count for slot_id, count in rows}


def _by_priority(session: Session) -> dict[Priority, int]:
    rows = session.execute(select(Submission.priority, func.count()).where(IS_WAITING).group_by(Submission.priority))
    return {Priority(priority): count for priority, count in rows}


def _latest_environments(session: Session) -> dict[str, dict[str, Any]]:
    """The environment of the newest of the latest verdicts of each slot."""
    rows = session.execute(
        select(Submission.slot_id, Submission.environment)
        .where(Submission.status == SubmissionStatus.COMPLETED, Submission.finished_at_ms <= db_now_ms())
        .order_by(Submission.finished_at_ms.desc())
        .limit(RECENT)
    )
    found: dict[str, dict[str, Any]] = {}
    for slot_id, environment in rows:
        if slot_id and environment:
            found.setdefault(slot_id, environment)
    return found


def _eta_s(priorities: dict[Priority, int], slots: int, mean_s: float | None) -> float | None:
    if not slots or mean_s is None:
        return None
    before = sum(count for priority, count in priorities.items() if priority <= Priority.NORMAL)
    return round((before + 1) * mean_s / slots, 3)


def _age_s(now: int, since: int | None) -> float | None:
    return None if since is None else max(now - since, 0) / 1000
