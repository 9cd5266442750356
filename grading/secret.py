"""The server's secret, from which every hidden seed is derived. Only the API needs it; no worker host holds it."""

import os
import secrets
from pathlib import Path

from grading.settings import Settings, SettingsError

BYTES_MIN = 16


def server_secret(settings: Settings) -> bytes:
    """`KERNEL_ENV_SECRET`, else the file `secret` in the data directory, made on first use and readable by its owner.

    Raises SettingsError for a secret that is too short to be one.
    """
    if settings.secret is not None:
        if len(settings.secret) < BYTES_MIN:
            raise SettingsError("KERNEL_ENV_SECRET", f"at least {BYTES_MIN} characters")
        return settings.secret.encode()
    path = settings.data_dir / "secret"
    if not path.exists():
        _create(path)
    return path.read_bytes()


def _create(path: Path) -> None:
    """Write the file whole or not at all: two processes that start together must end with the same secret."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"secret.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_hex(32).encode())
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()
