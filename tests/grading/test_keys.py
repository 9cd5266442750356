"""API keys: recognised by their secret alone, shown once, revoked for good."""

import pytest
from sqlalchemy import select

from grading import keys
from grading.db import Database
from grading.errors import NotFound
from grading.keys import NewKey
from grading.models import ApiKey

NEW = NewKey("alpha", "trainer")


def test_a_key_is_found_by_its_token(db: Database) -> None:
    row, token = keys.make_key(db, NEW)
    found = keys.find_key(db, token)
    assert found is not None
    assert (found.id, found.project_id, found.scopes) == (row.id, "alpha", ["read", "submit"])
    assert keys.list_keys(db)[0].used_at_ms is not None


def test_the_database_holds_no_token(db: Database) -> None:
    _, token = keys.make_key(db, NEW)
    secret = keys.split(token)[1]
    with db.read() as session:
        (row,) = session.scalars(select(ApiKey))
        assert not any(secret in str(value) for value in vars(row).values())


def test_what_is_no_token_finds_nothing(db: Database) -> None:
    row, token = keys.make_key(db, NEW)
    accented = f"kg_{'é' * 12}_x"
    for wrong in ("", "kg", "kg_", row.prefix, f"{row.prefix}_", token[:-1], token + "x", token.upper(), accented):
        assert keys.find_key(db, wrong) is None, wrong


def test_a_revoked_key_is_found_no_more(db: Database) -> None:
    row, token = keys.make_key(db, NEW)
    assert keys.any_keys(db)
    revoked = keys.revoke_key(db, row.prefix)
    assert keys.revoke_key(db, row.id).revoked_at_ms == revoked.revoked_at_ms
    assert keys.find_key(db, token) is None
    assert not keys.any_keys(db)
    assert keys.list_keys(db) == []
    assert [key.id for key in keys.list_keys(db, revoked=True)] == [row.id]


def test_a_key_made_elsewhere_is_adopted_once(db: Database) -> None:
    token = f"kg_{'0a' * 6}_{'s' * 43}"
    row = keys.adopt_key(db, NEW, token)
    assert keys.adopt_key(db, NEW, token).id == row.id
    found = keys.find_key(db, token)
    assert found is not None
    assert found.id == row.id
    keys.revoke_key(db, row.id)
    keys.adopt_key(db, NEW, token)
    assert keys.find_key(db, token) is None, "a revoked key came back"
    for wrong in ("", "secret", token[:40], f"kg_{'0a' * 6}_{'t' * 43}"):
        with pytest.raises(ValueError, match=r"a key reads|another key"):
            keys.adopt_key(db, NEW, wrong)


def test_keys_of_one_project(db: Database) -> None:
    keys.make_key(db, NEW)
    mine, _ = keys.make_key(db, NewKey("beta", "other"))
    assert [key.id for key in keys.list_keys(db, "beta")] == [mine.id]
    with pytest.raises(NotFound):
        keys.revoke_key(db, "key_none")


def test_scopes() -> None:
    assert keys.allows(["admin"], "submit")
    assert not keys.allows(["read"], "submit")
    for scopes in ((), ("read", "root")):
        with pytest.raises(ValueError, match="scopes are among"):
            NewKey("alpha", "trainer", scopes)
