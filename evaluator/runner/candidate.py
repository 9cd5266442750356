"""Loads a source as a module of its own and reports its faults by the lines of that source."""

import importlib.util
import linecache
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from evaluator.runner.guard import GuardViolation

MAX_TEXT = 6000
MAX_LINE = 200


class CandidateFault(Exception):
    """The candidate's code failed; `kind` says in which way and `text` is meant for its author."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


def load(source: str, folder: Path, name: str) -> ModuleType:
    """Import `source` from a real file, which Triton needs to read its kernels back. Raises CandidateFault."""
    path = folder / f"{name}.py"
    path.write_text(source)
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"no loader for {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with faults("import", name):
        spec.loader.exec_module(module)
    return module


class faults:
    """Turns whatever the candidate raises into a CandidateFault of `kind`, or a more precise one."""

    def __init__(self, kind: str, module_name: str) -> None:
        self._kind = kind
        self._module_name = module_name

    def __enter__(self) -> None:
        return None

    def __exit__(self, exc_type: Any, exc: BaseException | None, tb: Any) -> None:
        if exc is None or isinstance(exc, CandidateFault):
            return
        raise CandidateFault(_kind(exc, self._kind), describe(exc, self._module_name)) from None


def _kind(exc: BaseException, default: str) -> str:
    """Compilers raise inside `forward`, and memory runs out anywhere: these tell more than where it happened."""
    if isinstance(exc, GuardViolation):
        return "format"
    names = {f"{kind.__module__}.{kind.__name__}" for kind in type(exc).__mro__}
    if any(name.startswith("triton.compiler.errors.") or name.endswith(".PTXASError") for name in names):
        return "compile"
    if isinstance(exc, MemoryError) or "torch.OutOfMemoryError" in names or "torch.cuda.OutOfMemoryError" in names:
        return "memory"
    return default


def describe(exc: BaseException, module_name: str) -> str:
    """The exception's own text and the candidate's lines that led to it, innermost last."""
    file_end = f"/{module_name}.py"
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if frame.filename.endswith(file_end)]
    where = [f"  line {frame.lineno}, in {frame.name}: {(frame.line or '')[:MAX_LINE]}" for frame in frames[-6:]]
    if isinstance(exc, SyntaxError) and exc.filename and exc.filename.endswith(file_end):
        where.append(f"  line {exc.lineno}: {(exc.text or '').strip()[:MAX_LINE]}")
    try:
        text = f"{type(exc).__name__}: {exc}"
    except Exception:  # noqa: BLE001 - __str__ is the candidate's code too
        text = type(exc).__name__
    message = "\n".join([text[:MAX_TEXT], *where])
    return message.encode("utf-8", "replace").decode()
