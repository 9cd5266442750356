"""Identifiers: a prefix that says what it names and a ULID, so that they sort by age."""

from ulid import ULID

EPISODE = "ep"
SUBMISSION = "sub"
ATTEMPT = "att"
BATCH = "bat"
KEY = "key"


def new_id(prefix: str) -> str:
    """A fresh identifier such as `sub_01J9ZC…`."""
    return f"{prefix}_{ULID()}"
