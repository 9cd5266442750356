"""What the canary found on a slot: kept for about a day, each look with a summary of those before it."""

import statistics
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from grading.clock import now_ms, to_rfc3339
from grading.db import Database
from grading.errors import FenceLost
from grading.models import Canary, Slot

# A day at one look every 10 minutes.
KEPT_MAX = 144


def note_canary(db: Database, slot_id: str, incarnation: str, found: dict[str, Any]) -> Canary:
    """Record one look, and forget the oldest beyond KEPT_MAX. Raises FenceLost where another worker has the slot."""
    with db.write() as session:
        if session.scalar(select(Slot.incarnation).where(Slot.id == slot_id)) != incarnation:
            raise FenceLost(f"slot {slot_id} belongs to another worker")
        earlier = _earlier(session, slot_id)
        oldest_kept = earlier[KEPT_MAX - 2].at_ms if len(earlier) >= KEPT_MAX - 1 else 0
        session.execute(delete(Canary).where(Canary.slot_id == slot_id, Canary.at_ms < oldest_kept))
        looks = [found, *(look.found for look in earlier[: KEPT_MAX - 1])]
        now = now_ms(session)
        history = summary(looks) | {"since": to_rfc3339(earlier[-1].at_ms if earlier else now)}
        return session.merge(Canary(slot_id=slot_id, at_ms=now, found=found | {"history": history}))


def _earlier(session: Session, slot_id: str) -> Sequence[Canary]:
    """The looks that are kept, the newest first."""
    kept = select(Canary).where(Canary.slot_id == slot_id).order_by(Canary.at_ms.desc()).limit(KEPT_MAX)
    return session.scalars(kept).all()


def summary(looks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many looks there were, and the medians of what they found."""
    names = sorted({name for look in looks for name in look.get("kernels", {})})
    times = {name: [look["kernels"][name]["median_ms"] for look in looks if name in look["kernels"]] for name in names}
    noise = [look["noise_floor_frac"] for look in looks if look.get("noise_floor_frac") is not None]
    return {
        "looks": len(looks),
        "median_ms": {name: statistics.median(values) for name, values in times.items()},
        "noise_floor_frac": statistics.median(noise) if noise else None,
        "drift_frac_max": max((look.get("drift_frac") or 0.0 for look in looks), default=0.0),
        "throttled": sum(bool(look.get("throttle")) for look in looks),
    }
