"""A precompiled torch/extension.h per set of flags, made once by trusted code: it halves the time of a binding."""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from evaluator.build import flags
from evaluator.build.cache import ArtifactCache
from evaluator.build.calls import ExtensionCall
from evaluator.build.plan import host_command
from evaluator.build.toolchain import Toolchain
from evaluator.errors import GraderFault

#: The flags that submissions set most; others are compiled without help.
COMMON_FLAGS: tuple[tuple[str, ...], ...] = ((), ("-O3",), ("-O2",))
_BUILD_S = 600.0


class PrecompiledHeaders:
    """Folders to be put ahead of the include path, below the cache's folder."""

    def __init__(self, folder: str | Path, tools: Toolchain) -> None:
        self._folder = Path(folder) / "headers"
        self._locks = ArtifactCache(folder)
        self._tools = tools

    def find(self, call: ExtensionCall) -> str | None:
        """The folder for a call's flags, if it was made."""
        folder = self._place(flags.host_flags(call.cflags))
        return str(folder) if _header(folder).exists() else None

    def make(self, cflags: tuple[str, ...] = ()) -> str:
        """Make the folder unless it is there; takes half a minute. Raises GraderFault where g++ fails."""
        folder = self._place(cflags)
        with self._locks.lock(folder.name, deadline_s=_BUILD_S):
            if not _header(folder).exists():
                self._compile(cflags, _header(folder))
        return str(folder)

    def _place(self, cflags: tuple[str, ...]) -> Path:
        parts = (self._tools.fingerprint(()), *host_command(self._tools, cflags, cuda=False))
        return self._folder / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def _compile(self, cflags: tuple[str, ...], target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as work:
            source = Path(work, "header.h")
            source.write_text("#include <torch/extension.h>\n")
            command = [*host_command(self._tools, cflags, cuda=False), "-x", "c++-header", str(source)]
            command += ["-o", f"{work}/header.gch"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_S, check=False)
            if done.returncode:
                raise GraderFault("header_not_built", done.stderr[-2000:], retryable=False)
            # opened where the header is included once more, or where g++ finds that the precompiled one does not fit
            target.with_suffix("").write_text("#pragma once\n#include_next <torch/extension.h>\n")
            made = Path(work, "header.gch")
            made.chmod(0o644)
            made.rename(target)


def _header(folder: Path) -> Path:
    return folder / "torch" / "extension.h.gch"
