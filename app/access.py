"""The rule for addresses: beyond the loopback nothing is served without API keys."""

import os
import socket
import sys
from collections.abc import Sequence

from app.auth import is_loopback
from grading.db import Database
from grading.keys import any_keys
from grading.settings import load

EX_CONFIG = 78


def require_keys_beyond_loopback(listeners: Sequence[socket.socket]) -> None:
    """Before any worker starts: where a listener is not the loopback, demand keys of every request.

    Ends the process with a sentence where there is no key yet, or where the settings want none.
    """
    open_to = [name for listener in listeners if (name := _beyond(listener)) is not None]
    if not open_to:
        return
    settings = load()
    if settings.auth is False:
        _refuse(f"KERNEL_ENV_AUTH=0 is for the loopback alone, and the API would listen on {open_to[0]}.")
    db = Database(settings.database_url, pool_size=1)
    found = any_keys(db)
    db.dispose()
    if not found:
        _refuse(
            f"There is no API key yet, and the API would listen on {open_to[0]}: make one with "
            "`python -m grading.cli keys make`, or listen on 127.0.0.1 (KERNEL_ENV_BIND)."
        )
    os.environ["KERNEL_ENV_AUTH"] = "1"  # read by the workers, which have yet to start


def _beyond(listener: socket.socket) -> str | None:
    """What a listener is called, if others than this machine's users may reach it."""
    name = listener.getsockname()
    host = name[0] if isinstance(name, tuple) else str(name)
    return None if is_loopback(host) else host


def _refuse(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
    sys.exit(EX_CONFIG)
