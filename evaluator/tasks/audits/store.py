"""The audits that a catalogue knows: those that come with the code, and the file beside its tasks."""

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from evaluator.tasks.audits.record import Audit, AuditError
from evaluator.tasks.special_inputs import NOTHING_SPECIAL, SpecialInputs

AUDIT_FILE = "audit.json"


class AuditStore:
    """Looks audits up by the text of a task; a file beside the tasks counts before those that come with the code.

    Raises AuditError where the file cannot be read.
    """

    def __init__(self, root: Path) -> None:
        beside = root / AUDIT_FILE
        own = read_audits(beside) if beside.is_file() else ()
        self._by_text = {audit.sha256: audit for audit in (*shipped(), *own)}
        self._shipped_by_id = {audit.task_id: audit for audit in shipped()}

    def of(self, sha256: str) -> Audit | None:
        """The audit of exactly this text."""
        return self._by_text.get(sha256)

    def special(self, task_id: str, sha256: str) -> SpecialInputs:
        """What the audit of this text asks for; for a text without one, that of the task of this name.

        Number and name stand for the operator, so another text of a known task is held to no less. (The audit of such
        a text begins with what its namesake is held to.)
        """
        own = self.of(sha256)
        return own.special if own else self.namesake(task_id, sha256)

    def namesake(self, task_id: str, sha256: str) -> SpecialInputs:
        """What the task of this name that comes with the code is held to, if its text is another."""
        known = self._shipped_by_id.get(task_id)
        return NOTHING_SPECIAL if known is None or known.sha256 == sha256 else known.special


def read_audits(path: Path) -> tuple[Audit, ...]:
    """Every audit of one file. Raises AuditError, naming the file."""
    try:
        return _audits(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, AuditError) as error:
        raise AuditError(f"{path}: {error}") from error


def write_audits(path: Path, audits: Iterable[Audit]) -> None:
    """Replace the file; one line a task, in order, so that two versions compare line by line."""
    ordered = sorted(audits, key=lambda audit: audit.task_id)
    lines = ",\n".join(json.dumps(audit.to_json(), allow_nan=False) for audit in ordered)
    text = f'{{"audits": [\n{lines}\n]}}'
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)


@cache
def shipped() -> tuple[Audit, ...]:
    """The audits that come with the code."""
    folder = resources.files("evaluator.tasks.audits")
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".json")), key=lambda item: item.name)
    return tuple(audit for item in files for audit in _audits(item.read_text(encoding="utf-8")))


def _audits(text: str) -> tuple[Audit, ...]:
    try:
        data: Any = json.loads(text)
        items = list(data["audits"])
    except (ValueError, KeyError, TypeError) as error:
        raise AuditError(f"no list of audits: {error!r}") from error
    return tuple(Audit.from_json(item) for item in items)
