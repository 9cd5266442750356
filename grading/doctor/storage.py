"""The parts that all processes share: database, schema, clock, keys and broker."""

import ipaddress
import time
from urllib.parse import urlsplit

import redis
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import make_url, text
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from grading.clock import now_ms
from grading.db import Database
from grading.doctor.check import Check
from grading.keys import any_keys
from grading.migrate import missing
from grading.settings import Settings

SKEW_MAX_MS = 1000
SLOW_MS = 100.0
BROKER_TIMEOUT_S = 2.0


def database(settings: Settings, db: Database) -> Check:
    where = make_url(settings.database_url).render_as_string(hide_password=True)
    try:
        with db.read() as session:
            version = session.scalars(text("SELECT sqlite_version()" if db.is_sqlite else "SHOW server_version")).one()
            started = time.monotonic()  # not with the connection's start, which is paid once
            now_ms(session)
            ms = (time.monotonic() - started) * 1000
    except (SQLAlchemyError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        remedy = "start the server, or correct DATABASE_URL (the user needs rights on that database)"
        return Check.failure("database", f"{where} does not answer: {reason}", remedy)
    if db.is_sqlite:
        return Check.ok("database", f"SQLite {version}, {where} (for one host; several need Postgres)")
    if ms > SLOW_MS:
        detail = f"Postgres {version}, {where}, took {ms:.0f} ms to answer"
        return Check.warning("database", detail, "bring the hosts closer together, or look at the server's load")
    return Check.ok("database", f"Postgres {version}, {where}, answers in {ms:.0f} ms")


def migrations(settings: Settings, db: Database) -> Check:
    try:
        current, newest = missing(db)
    except SQLAlchemyError as error:
        return Check.failure("migrations", f"cannot be read: {error}", "connect as a user that may read its tables")
    if current == newest:
        return Check.ok("migrations", f"at {newest}, the newest")
    detail = f"the database is at {current or 'nothing'}, this code needs {newest}"
    return Check.failure("migrations", detail, "run `python -m launcher.migrate`, which `make run` does by itself")


def clock(settings: Settings, db: Database) -> Check:
    """Rows carry the database's time alone; a host that differs only writes misleading logs."""
    with db.read() as session:
        before = time.time()
        there = now_ms(session)
        here = (before + time.time()) / 2 * 1000
    skew = there - here
    detail = f"the database is {abs(skew):.0f} ms {'ahead of' if skew > 0 else 'behind'} this host"
    if abs(skew) > SKEW_MAX_MS:
        return Check.warning("clock", detail, "let both hosts follow the same time service (chrony, systemd-timesyncd)")
    return Check.ok("clock", detail)


def keys(settings: Settings, db: Database) -> Check:
    try:
        some = any_keys(db)
    except ProgrammingError as error:
        if not isinstance(error.orig, InsufficientPrivilege):
            raise
        return Check.ok("keys", "not told to the role of worker hosts")
    if some:
        return Check.ok("keys", "API keys are in force")
    if _is_loopback(settings.bind):
        return Check.ok("keys", f"none, and the API listens on {settings.bind} alone")
    detail = f"none, but the API is to listen on {settings.bind}"
    return Check.failure("keys", detail, "make one: `python -m grading.cli keys make PROJECT`")


def broker(settings: Settings) -> Check:
    where = _without_password(settings.redis_url)
    client = redis.Redis.from_url(
        settings.redis_url, socket_timeout=BROKER_TIMEOUT_S, socket_connect_timeout=BROKER_TIMEOUT_S
    )
    with client:
        try:
            started = time.monotonic()
            info = client.info()
        except (redis.RedisError, OSError) as error:
            remedy = "start the server, or correct REDIS_URL; submissions are accepted meanwhile and graded later"
            return Check.failure("broker", f"{where} does not answer: {error}", remedy)
    ms = (time.monotonic() - started) * 1000
    detail = f"{info.get('server_name', 'redis')} {info.get('redis_version')}, {where}, answers in {ms:.0f} ms"
    if ms > SLOW_MS:
        return Check.warning("broker", detail, "look at the server's load and the network between the hosts")
    return Check.ok("broker", detail)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
