"""One task's audit, as it is stored and read back."""

from dataclasses import dataclass, field
from typing import Any, Self

from evaluator.tasks.special_inputs import NOTHING_SPECIAL, SpecialInputs, from_json, to_json


class AuditError(ValueError):
    """A stored audit cannot be read; the text names the file and the task."""


@dataclass(frozen=True)
class Audit:
    """`sha256` is that of the reference as a GPU gets it. A task with `failures` is not served for training.

    `sizes` says whether it was tried at `full` or at `reduced` sizes. `findings` are sentences for people, `proof` says
    what was tried, what passed and what refuses it now, `facts` what was seen (shapes, dtypes, properties).
    """

    task_id: str
    sha256: str
    device: str
    sizes: str
    failures: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    special: SpecialInputs = NOTHING_SPECIAL
    facts: dict[str, Any] = field(default_factory=dict)
    proof: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        return {
            "task_id": self.task_id,
            "sha256": self.sha256,
            "device": self.device,
            "sizes": self.sizes,
            "failures": list(self.failures),
            "findings": list(self.findings),
            "special": to_json(self.special),
            "facts": self.facts,
            "proof": self.proof,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Raises AuditError."""
        try:
            return cls(
                task_id=str(data["task_id"]),
                sha256=str(data["sha256"]),
                device=str(data["device"]),
                sizes=str(data["sizes"]),
                failures=tuple(data["failures"]),
                findings=tuple(data["findings"]),
                special=from_json(data["special"]),
                facts=dict(data["facts"]),
                proof=dict(data["proof"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise AuditError(f"the audit of {data.get('task_id', '?')} cannot be read: {error!r}") from error
