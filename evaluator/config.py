"""How one evaluator is set up: which device, which tasks, which limits and policies."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from evaluator.limits import Limits

EvaluatorKind = Literal["gpu", "cpu", "mock"]
EVALUATOR_KINDS: tuple[EvaluatorKind, ...] = ("gpu", "cpu", "mock")
PrecisionPolicy = Literal["reject", "mark"]
PRECISION_POLICIES: tuple[PrecisionPolicy, ...] = ("reject", "mark")


@dataclass(frozen=True)
class EvaluatorConfig:
    """`gpu_index` counts devices as the driver does; it is ignored by the `cpu` and `mock` evaluators.

    `lanes` grades run beside each other, of which one holds the device at any time: while it is timed, the next one
    starts and compiles. `state_dir` holds what may outlive a grade (build cache, sockets); `tasks_dir` holds task files
    as `level*/…py`, `added_tasks_dir` those that were added to them.
    `require_isolation` names walls (as `Report.environment["isolation"]` does) without which nothing is graded.
    `audit` grades the reference itself (a source with `Model`): no static check, no guard, no provenance. Its reports
    are marked and earn no reward; no setting of a server turns it on. `measure_unknown_gpu` measures the peaks of a GPU
    that is not in the table, once.
    """

    kind: EvaluatorKind
    tasks_dir: str
    state_dir: str
    gpu_index: int = 0
    lanes: int = 1
    limits: Limits = field(default_factory=Limits)
    precision_policy: PrecisionPolicy = "reject"
    require_isolation: tuple[str, ...] = ()
    mock_eval_s: float = 0.0
    added_tasks_dir: str | None = None
    audit: bool = False
    measure_unknown_gpu: bool = False

    @property
    def extensions_dir(self) -> Path:
        """The cache of what was built, shared by the builders and judges of a machine."""
        return Path(self.state_dir, "extensions")

    @property
    def build_isolation(self) -> tuple[str, ...]:
        """The walls that a build must have: it uses no device, so that the shared memory of others is never there."""
        return tuple(wall for wall in self.require_isolation if wall != "shm")

    def to_json(self) -> dict[str, Any]:
        data = dict(vars(self))
        data["limits"] = self.limits.to_json()
        data["require_isolation"] = list(self.require_isolation)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        values = dict(data)
        values["limits"] = Limits.from_json(values["limits"])
        values["require_isolation"] = tuple(values["require_isolation"])
        return cls(**values)
