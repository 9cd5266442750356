"""Builds the arena's allocator once per state folder; every process must load the same file."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from evaluator.errors import GraderFault

_SOURCE = Path(__file__).parent.parent / "runner" / "arena.c"


def arena_library(state_dir: Path) -> str:
    """Path of the built allocator. Raises GraderFault where no C compiler is found or it fails."""
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    path = state_dir / f"arena-{digest}.so"
    if path.exists():
        return str(path)
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise GraderFault("no_compiler", "a C compiler (cc, gcc or clang) is needed on PATH", retryable=False)
    descriptor, temporary = tempfile.mkstemp(dir=state_dir, suffix=".so")
    os.close(descriptor)
    command = [compiler, "-shared", "-fPIC", "-O2", "-pthread", "-o", temporary, str(_SOURCE)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise GraderFault("arena_build", built.stderr[-2000:], retryable=False)
    Path(temporary).chmod(0o755)
    Path(temporary).replace(path)
    return str(path)
