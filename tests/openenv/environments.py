"""Python environments with a released OpenEnv each, from the locks, kept between runs."""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from launcher.commands import REPOSITORY

LOCKS = REPOSITORY / "openenv_server" / "requirements"
KEPT = REPOSITORY / ".data" / "openenv-tests"
SOURCES = ("client/src", "openenv_server/src")
INSTALL_S = 900


class NotInstallable(Exception):
    """The package index was of no help; the text is the end of pip's."""


def python(name: str) -> Path:
    """The interpreter of an environment that holds `openenv_server/requirements/NAME.txt`. Raises NotInstallable."""
    return installed(LOCKS / f"{name}.txt")


def installed(lock: Path) -> Path:
    """The interpreter of an environment that holds what a lock names. Raises NotInstallable."""
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = KEPT / f"{lock.stem}-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, timeout=INSTALL_S)
            command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(lock)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
            if done.returncode:
                raise NotInstallable(done.stderr[-1000:])
            (folder / "complete").touch()
    return folder / "bin" / "python"


def environ(grader_url: str, **more: str) -> dict[str, str]:
    """For programs in such an environment: this repository's packages from their sources, and a grader."""
    sources = os.pathsep.join(str(REPOSITORY / source) for source in SOURCES)
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return {**kept, "PYTHONPATH": sources, "KERNEL_GRADER_URL": grader_url, "NO_PROXY": "*", **more}
