"""How much one API key may have unfinished at once."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grading.errors import QuotaExceeded
from grading.models import IS_UNFINISHED, ApiKey, Submission

# more transactions than this are never open at once, so a count that is further from the limit needs no lock
NEAR = 256


def room(session: Session, key_id: str | None, in_flight_max: int | None) -> int | None:
    """How many more submissions the key may have in flight; None for any number.

    Near the limit the key's row stays locked until the transaction ends, so that two requests cannot both take the
    last place. To be called before any other lock is taken.
    """
    if key_id is None or in_flight_max is None:
        return None
    in_flight = select(func.count()).select_from(Submission).where(Submission.key_id == key_id, IS_UNFINISHED)
    left = in_flight_max - session.scalars(in_flight).one()
    if left < NEAR:
        session.execute(select(ApiKey.id).where(ApiKey.id == key_id).with_for_update(key_share=True))
        left = in_flight_max - session.scalars(in_flight).one()
    return max(left, 0)


def require_room(session: Session, key_id: str | None, in_flight_max: int | None) -> None:
    """Raises QuotaExceeded where the key has as many in flight as it may."""
    if room(session, key_id, in_flight_max) == 0:
        raise QuotaExceeded(f"this key has {in_flight_max} submissions in flight, which is its limit")
