"""Liveness and readiness."""

from typing import Any

from sqlalchemy import func, select

from app.context import Context
from evaluator.version import VERSION
from grading.clock import db_now_ms
from grading.models import Slot
from grading.states import SlotRole, SlotState


def alive() -> dict[str, Any]:
    return {"status": "ok", "version": VERSION}


def ready(ctx: Context) -> dict[str, Any]:
    """Look at the database (its errors become a 503), the broker and the workers."""
    with ctx.db.read() as session:
        workers = session.scalars(
            select(func.count()).where(
                Slot.role == SlotRole.GRADER, Slot.state == SlotState.READY, Slot.lease_until_ms > db_now_ms()
            )
        ).one()
    broker = ctx.broker_up()
    status = "ok" if broker and workers else "degraded"
    return {"status": status, "database": True, "broker": broker, "workers": workers}
