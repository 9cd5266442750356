"""Audits one task: properties, trivial and honest answers, remedies, and the verdict on the task itself."""

from typing import Any

import torch

from evaluator.audit import properties
from evaluator.audit.answers import COMPILED, HONEST, Answer, Honest, trivial_answers
from evaluator.audit.kinds import Property
from evaluator.audit.remedies import Outcome, Search
from evaluator.audit.shrink import COST_MAX, cost, shrink
from evaluator.audit.subject import DRAWS, Case, Subject
from evaluator.audit.trying import Trying
from evaluator.errors import GraderFault
from evaluator.judge.precision import finite
from evaluator.judge.reference import tensors
from evaluator.tasks import Task, source_for
from evaluator.tasks.audits import Audit
from evaluator.tasks.special_inputs import SpecialInputs

SMALLEST_T_REF_MS = 0.01
OTHER_SEED = 77
DISAGREEMENT_MAX = 1e-3
HONEST_REFUSED = "honest answers are refused"
REDUCED_COSTS = (COST_MAX, 10 * COST_MAX, 100 * COST_MAX)
KEPT_BYTES_MAX = 2e9
KEPT_FRAC_MAX = 0.2  # of a GPU's memory


def audit_task(task: Task, device: str, tolerance: float, *, compiled: bool = False) -> Audit:
    """Try everything on one task. A task that does not run comes out as one that fails, with the reason.

    Raises torch.OutOfMemoryError for one that does not fit into this device's memory: that is no fault of the task.
    Reduced sizes at which honest answers disagree are too small for the task, and larger ones are tried.
    """
    costs = REDUCED_COSTS if device == "cpu" and not task.cpu_sizes else REDUCED_COSTS[:1]
    for cost_max in costs:
        audit = _audit_at(task, device, tolerance, cost_max, compiled=compiled)
        if not any(failure.startswith(HONEST_REFUSED) for failure in audit.failures):
            break
    return audit


def _audit_at(task: Task, device: str, tolerance: float, cost_max: float, *, compiled: bool) -> Audit:
    sizes = "reduced" if device == "cpu" else "full"
    sha256 = task.sha256
    try:
        source, slack = _sized(task, device, cost_max)
        made = _Auditing(task.task_id, source, device, task.namesake, tolerance, slack, compiled=compiled)
        failures, findings, outcome = made.run()
        return Audit(
            task.task_id, sha256, device, sizes, failures, findings, outcome.special, made.facts, made.proof(outcome)
        )
    except GraderFault as fault:
        return Audit(task.task_id, sha256, device, sizes, (f"it does not run: {fault.detail[:300]}",))


def _sized(task: Task, device: str, cost_max: float) -> tuple[str, float]:
    """The source to run, and how many times fewer elements it has, as a square root: how much more means scatter."""
    if device != "cpu":
        return source_for(task, "cuda"), 1.0
    full = source_for(task, "cuda")
    small = source_for(task, "cpu") if task.cpu_sizes else shrink(full, task.task_id, cost_max)
    try:
        ratio = cost(full, task.task_id).input_elements / max(cost(small, task.task_id).input_elements, 1)
    except GraderFault:
        raise
    except Exception:  # noqa: BLE001 - a model that does not run on the meta device
        ratio = 1.0
    return small, max(ratio, 1.0) ** 0.5


def _kept_bytes_max(device: str) -> float:
    return KEPT_BYTES_MAX if device == "cpu" else KEPT_FRAC_MAX * torch.cuda.get_device_properties(0).total_memory


class _Auditing:
    def __init__(
        self,
        task_id: str,
        source: str,
        device: str,
        inherited: SpecialInputs,
        tolerance: float,
        slack: float,
        *,
        compiled: bool,
    ) -> None:
        self._device = device
        self._inherited = inherited
        self._subject = Subject(task_id, source, device, tolerance)
        self._honest: tuple[Honest, ...] = (*HONEST, COMPILED) if compiled else HONEST
        self._trying = Trying(self._subject, self._honest, slack=slack, kept_bytes_max=_kept_bytes_max(device))
        self._case = self._trying.case(None, DRAWS[0])
        self._answers: list[Answer] = list(trivial_answers(self._case))
        self.facts: dict[str, Any] = {}

    def run(self) -> tuple[tuple[str, ...], tuple[str, ...], Outcome]:
        """Failures, findings and remedies."""
        cases = [self._trying.case(None, draw) for draw in DRAWS]
        found: set[Property] = set()
        if properties.is_elementwise(self._subject, self._case):
            found.add("elementwise")
        invariants = properties.invariants(self._subject, cases)
        found.update(name for name in ("rows_sum_to_one", "l2_norm_is_one") if name in invariants)
        self.facts = self._facts(found)
        failures, findings = self._of_the_task(cases)
        outcome = Search(self._trying, self._answers, found, invariants, self._inherited).run()
        return (*failures, *_failures(outcome)), (*findings, *self._of_the_answers(outcome)), outcome

    def proof(self, outcome: Outcome) -> dict[str, Any]:
        """What was tried, what passed at first and what refuses it now."""
        return {
            "trivial_tried": [answer.name for answer in self._answers if answer.name not in self._trying.skipped],
            "passed_at_first": outcome.refused_by,
            "honest_tried": [honest.name for honest in self._honest if honest.name not in self._trying.skipped],
            "not_possible": self._trying.skipped,
        }

    def _facts(self, found: set[Property]) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "properties": sorted(found),
            "inputs": [_form(value) for value in self._case.inputs],
            "output": _form(self._case.expected),
            "parameters": sum(value.numel() for value in self._subject.reference.state().values()),
            "flops": self._subject.work.flops,
            "timed_with_signs": self._subject.timed_with_signs,
        }
        if self._device == "cuda":
            facts |= {"t_ref_ms": self._time_ms(), "peak_bytes": self._peak_bytes()}
        return facts

    def _of_the_task(self, cases: list[Case]) -> tuple[list[str], list[str]]:
        failures, findings = [], []
        subject, case = self._subject, self._case
        if not all(finite(each.expected) for each in cases):
            findings.append("the output has NaN or infinity on the task's own inputs")
        if properties.disagreement(subject, case, case.draw) > DISAGREEMENT_MAX:
            failures.append("the reference disagrees with itself under one seed")
        elif properties.disagreement(subject, case, OTHER_SEED) > DISAGREEMENT_MAX:
            findings.append("the output depends on the state of the random number generator")
        independent = list(properties.independent_inputs(subject, case))
        count = len(tensors(case.inputs))
        if independent and len(independent) == count:
            failures.append("the output depends on none of the inputs")
        elif independent:
            findings.append(f"the output does not depend on input {', '.join(map(str, independent))} of {count}")
        names = list(properties.independent_parameters(subject, case))
        if names:
            findings.append(f"the output does not depend on the parameters {', '.join(names[:8])}")
        if self.facts.get("t_ref_ms", 1.0) < SMALLEST_T_REF_MS:
            findings.append(f"the reference takes {self.facts['t_ref_ms'] * 1e3:.1f} us: too little to time well")
        return failures, findings

    def _of_the_answers(self, outcome: Outcome) -> list[str]:
        findings = []
        if outcome.by_precision:
            findings.append(f"only the precision policy refuses: {', '.join(outcome.by_precision)}")
        if close := [name for name in outcome.close if name not in outcome.honest]:
            findings.append(f"honest answers use more than half of the tolerance: {', '.join(close)}")
        return findings

    def _time_ms(self) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        for _ in range(2):
            inputs = self._subject.fresh(self._case)
            start.record()
            self._subject.reference.forward(inputs, self._case.draw, "tf32")
            end.record()
            torch.cuda.synchronize()
        return round(float(start.elapsed_time(end)), 6)

    def _peak_bytes(self) -> int:
        """Of one call with its inputs, weights and output."""
        torch.cuda.reset_peak_memory_stats()
        self._subject.case(None, DRAWS[0])
        return int(torch.cuda.max_memory_allocated())


def _failures(outcome: Outcome) -> list[str]:
    failures = []
    if outcome.passing:
        failures.append(f"trivial answers pass: {', '.join(outcome.passing)}")
    if outcome.passing_timed:
        failures.append(f"trivial answers pass on timed inputs: {', '.join(outcome.passing_timed)}")
    if outcome.honest:
        failures.append(f"{HONEST_REFUSED}: {', '.join(outcome.honest)}")
    return failures


def _form(value: Any) -> Any:
    """Shapes and dtypes of a nested value."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return [_form(item) for item in value]
    if isinstance(value, dict):
        return {key: _form(item) for key, item in value.items()}
    return type(value).__name__
