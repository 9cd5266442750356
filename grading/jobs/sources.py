"""How sources are told apart."""

import hashlib


def code_sha(code: str) -> str:
    """The first 12 hex digits of the SHA-1 of the source, by which results are compared across runs."""
    return hashlib.sha1(code.encode(), usedforsecurity=False).hexdigest()[:12]
