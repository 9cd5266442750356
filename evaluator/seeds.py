"""Hidden seeds: HMAC(per-submission key, label), so that no seed can be derived from another or from public data."""

import hashlib
import hmac


def derive(seed_key: str, label: str) -> int:
    """A 63-bit seed (torch takes no more) for one purpose, such as `trial:3` or `weights:0`."""
    digest = hmac.new(bytes.fromhex(seed_key), label.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1
