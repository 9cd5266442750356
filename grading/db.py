"""Engines and sessions for Postgres and SQLite, with one rule: what writes says so when it begins."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

WRITES = "kernel_grader_writes"


def dump_json(value: Any) -> str:
    """JSON without NaN or infinity: a measurement that is no number must fail here, not in a client."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


class Database:
    """One process's way to the database. Make a new one after a fork: connections do not survive it.

    With `forks`, for a process that forks children while its threads work, no connection is open during a fork: a
    child would inherit SQLite's record of locks that only its parent holds.
    """

    def __init__(self, url: str, *, pool_size: int = 8, forks: bool = False) -> None:
        self._guard: AbstractContextManager[object] = nullcontext()
        if forks:
            self._guard = guard = threading.RLock()
            os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release)
        self.engine = _engine(url, None if forks else pool_size)
        self._readers = sessionmaker(self.engine, expire_on_commit=False)
        self._writers = sessionmaker(self.engine.execution_options(**{WRITES: True}), expire_on_commit=False)

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for reading; nothing is committed. Rows stay usable after it closes."""
        with self._guard, self._readers() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that commits at the end of the block and rolls back on an exception."""
        with self._guard, self._writers.begin() as session:
            yield session

    def dispose(self) -> None:
        self.engine.dispose()


def _pool(pool_size: int | None) -> dict[str, Any]:
    if pool_size is None:
        return {"poolclass": NullPool}
    return {"pool_size": pool_size, "max_overflow": 2 * pool_size, "pool_timeout": 10}


def _engine(url: str, pool_size: int | None) -> Engine:
    if url.startswith("sqlite"):
        return _sqlite_engine(url, pool_size)
    return create_engine(
        url,
        json_serializer=dump_json,
        hide_parameters=True,  # an error's text ends in a log, and parameters are sources and hashes of keys
        **_pool(pool_size),
        pool_pre_ping=True,  # a restarted server must cost nobody an error
        connect_args={
            "connect_timeout": 5,
            "application_name": "kernel-grader",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            # a statement that waits longer is stuck behind something, and every caller can try again
            "options": "-c lock_timeout=10s -c statement_timeout=30s -c idle_in_transaction_session_timeout=60s",
        },
    )


def _sqlite_engine(url: str, pool_size: int | None) -> Engine:
    engine = create_engine(
        url,
        json_serializer=dump_json,
        hide_parameters=True,  # an error's text ends in a log, and parameters are sources and hashes of keys
        **_pool(pool_size),
        # the driver must leave BEGIN to us: its own is deferred, and a read that turns into a write then fails at once
        connect_args={"timeout": 30, "isolation_level": None, "check_same_thread": False},
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # in WAL mode NORMAL survives the death of any process; only a power cut may lose the last commits
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
