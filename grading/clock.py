"""The database's clock, in milliseconds since 1970: the only clock that rows are stamped and judged with."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.functions import FunctionElement


class db_now_ms(FunctionElement[int]):
    """SQL expression for the present moment, for use inside statements."""

    type = BigInteger()
    inherit_cache = True


@compiles(db_now_ms, "postgresql")
def _postgresql(element: db_now_ms, compiler: Any, **kw: Any) -> str:
    # statement_timestamp() is stable, so that comparisons with it may use an index; now() would be the transaction's.
    return "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)"


@compiles(db_now_ms, "sqlite")
def _sqlite(element: db_now_ms, compiler: Any, **kw: Any) -> str:
    # SQLite's CURRENT_TIMESTAMP has whole seconds only; its julian day is a float with about 0.04 ms of resolution.
    return "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"


def now_ms(session: Session) -> int:
    """The database's present moment in milliseconds since 1970."""
    return session.scalars(select(db_now_ms())).one()


def to_datetime(ms: int) -> datetime:
    """An aware UTC datetime of a stamp."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC)


def to_rfc3339(ms: int | None) -> str | None:
    """The API's form of a stamp, `2026-01-31T12:00:00.123Z`; None stays None."""
    if ms is None:
        return None
    return to_datetime(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")
