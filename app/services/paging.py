"""Pages of a list, newest first: identifiers sort by age, so the last one of a page is the cursor to the next."""

from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

Row = TypeVar("Row")


def page(
    session: Session, found: Select[Row], key: InstrumentedAttribute[str], query: dict[str, Any]
) -> tuple[Sequence[Row], str | None]:
    """(rows, cursor of the next page or None where this is the last) for `cursor` and `limit` of a query."""
    limit: int = query["limit"]
    if "cursor" in query:
        found = found.where(key < query["cursor"])
    rows = session.scalars(found.order_by(key.desc()).limit(limit + 1)).all()
    more = len(rows) > limit
    rows = rows[:limit]
    return rows, getattr(rows[-1], key.key) if more else None
