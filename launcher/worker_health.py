"""Whether the slots that this host's workers or builders serve are alive, as their rows in the database say."""

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from grading.clock import now_ms
from grading.db import Database
from grading.models import Slot
from grading.settings import Settings
from grading.states import SlotRole, SlotState

# a quarantined slot comes back by itself, and starting its container again would not heal the device
ALIVE = (SlotState.STARTING, SlotState.READY, SlotState.DRAINING, SlotState.QUARANTINED)


def why_not_well(settings: Settings, *, builders: bool) -> str | None:
    """The first reason, as a sentence, or None where all is well."""
    role = SlotRole.BUILDER if builders else SlotRole.GRADER
    wanted = range(settings.builders) if builders else settings.gpus
    db = Database(settings.database_url, pool_size=1)
    try:
        with db.read() as session:
            now = now_ms(session)
            found = session.scalars(select(Slot).where(Slot.host == settings.host, Slot.role == role)).all()
    except SQLAlchemyError as error:
        return f"The database does not answer: {str(error).splitlines()[0]}"
    finally:
        db.dispose()
    served = {slot.number for slot in found if slot.state in ALIVE and slot.lease_until_ms > now}
    missing = [number for number in wanted if number not in served]
    return f"Nobody serves {role} {', '.join(map(str, missing))} of {settings.host}." if missing else None
