"""Keys to the API: made, listed, revoked and recognised. A key is shown when it is made and never again."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select, update

from grading.clock import now_ms
from grading.db import Database
from grading.errors import NotFound
from grading.ids import KEY, new_id
from grading.models import ApiKey

SCOPES = ("read", "submit", "admin")
MARK = "kg"
PREFIX_BYTES = 6
SECRET_BYTES = 32
# noting every use would make each request a write
USED_EVERY_MS = 60_000


@dataclass(frozen=True)
class NewKey:
    """Limits of None are the installation's own."""

    project_id: str
    name: str
    scopes: tuple[str, ...] = ("read", "submit")
    rate_per_minute: int | None = None
    in_flight_max: int | None = None

    def __post_init__(self) -> None:
        unknown = sorted(set(self.scopes) - set(SCOPES))
        if unknown or not self.scopes:
            raise ValueError(f"scopes are among {', '.join(SCOPES)}, not {', '.join(unknown) or 'none'}")


def make_key(db: Database, new: NewKey) -> tuple[ApiKey, str]:
    """A new key: its row, and the token `kg_PREFIX_SECRET` that its owner sends. The token cannot be had again."""
    token = f"{MARK}_{secrets.token_hex(PREFIX_BYTES)}_{secrets.token_urlsafe(SECRET_BYTES)}"
    return _add(db, new, token), token


def adopt_key(db: Database, new: NewKey, token: str) -> ApiKey:
    """The row of a token that was made elsewhere, as set-ups do; a known one, revoked or not, stays as it is.

    Raises ValueError for a token of another form, a secret too short to be stored as a plain hash, or one that has the
    prefix of another key.
    """
    prefix, secret = split(token)
    if prefix is None or len(secret) < SECRET_BYTES:
        takes = f"{2 * PREFIX_BYTES} hexadecimal digits, at least {SECRET_BYTES} characters"
        raise ValueError(f"a key reads {MARK}_PREFIX_SECRET: {takes}")
    with db.read() as session:
        known = session.scalars(select(ApiKey).where(ApiKey.prefix == prefix)).one_or_none()
    if known is None:
        return _add(db, new, token)
    if not hmac.compare_digest(known.secret_sha, secret_sha(secret)):
        raise ValueError(f"another key has the prefix {prefix}")
    return known


def _add(db: Database, new: NewKey, token: str) -> ApiKey:
    prefix, secret = split(token)
    with db.write() as session:
        row = ApiKey(
            id=new_id(KEY),
            project_id=new.project_id,
            name=new.name,
            prefix=prefix,
            secret_sha=secret_sha(secret),
            scopes=[scope for scope in SCOPES if scope in new.scopes],
            rate_per_minute=new.rate_per_minute,
            in_flight_max=new.in_flight_max,
            created_at_ms=now_ms(session),
        )
        session.add(row)
    return row


def list_keys(db: Database, project_id: str | None = None, *, revoked: bool = False) -> Sequence[ApiKey]:
    """Keys, oldest first; revoked ones where asked for."""
    found = select(ApiKey).order_by(ApiKey.id)
    if project_id is not None:
        found = found.where(ApiKey.project_id == project_id)
    if not revoked:
        found = found.where(ApiKey.revoked_at_ms.is_(None))
    with db.read() as session:
        return session.scalars(found).all()


def revoke_key(db: Database, name: str) -> ApiKey:
    """Revoke the key with this id or prefix, at once and for good; a revoked one stays as it is. Raises NotFound."""
    with db.write() as session:
        row = session.scalars(
            select(ApiKey).where((ApiKey.id == name) | (ApiKey.prefix == name)).with_for_update()
        ).one_or_none()
        if row is None:
            raise NotFound(f"there is no key {name}")
        row.revoked_at_ms = row.revoked_at_ms or now_ms(session)
        return row


def find_key(db: Database, token: str) -> ApiKey | None:
    """The live key that a token belongs to. Everything but a whole, right token of a key in force is None."""
    prefix, secret = split(token)
    if prefix is None:
        return None
    with db.read() as session:
        row = session.scalars(select(ApiKey).where(ApiKey.prefix == prefix)).one_or_none()
        now = now_ms(session) if row is not None else 0
    if row is None or row.revoked_at_ms is not None or not hmac.compare_digest(row.secret_sha, secret_sha(secret)):
        return None
    if row.used_at_ms is None or row.used_at_ms < now - USED_EVERY_MS:
        _note_use(db, row.id, now)
    return row


def any_keys(db: Database) -> bool:
    """Whether a key is in force: an address beyond the loopback is not served without one."""
    with db.read() as session:
        return session.scalar(select(ApiKey.id).where(ApiKey.revoked_at_ms.is_(None)).limit(1)) is not None


def allows(scopes: Iterable[str], wanted: str) -> bool:
    """Whether these scopes include the wanted one; `admin` includes all."""
    held = set(scopes)
    return wanted in held or "admin" in held


def split(token: str) -> tuple[str | None, str]:
    """(prefix, secret) of a token; the prefix is None for anything that has another form."""
    mark, _, rest = token.partition("_")
    lookup, _, secret = rest.partition("_")
    well_formed = mark == MARK and len(lookup) == 2 * PREFIX_BYTES and bool(secret) and token.isascii()
    return (f"{mark}_{lookup}" if well_formed else None), secret


def secret_sha(secret: str) -> str:
    """A plain hash will do: a secret of 32 random bytes cannot be guessed from it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _note_use(db: Database, key_id: str, now: int) -> None:
    with db.write() as session:
        session.execute(update(ApiKey).where(ApiKey.id == key_id).values(used_at_ms=now))
