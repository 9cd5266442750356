"""An audit for people: Markdown with what fails first."""

from collections import Counter
from collections.abc import Iterable

from evaluator.tasks.audits import Audit


def markdown(audits: Iterable[Audit]) -> str:
    """One document over all tasks."""
    audits = list(audits)
    failed = [audit for audit in audits if not audit.passed]
    remedied = [audit for audit in audits if audit.passed and audit.proof.get("passed_at_first")]
    lines = ["# Audit of a task set", "", *_totals(audits, failed, remedied)]
    lines += ["", "## Not served for training", "", *(_failure(audit) for audit in failed)] if failed else []
    lines += ["", "## Served with remedies", ""]
    lines += ["| task | passed at first | what refuses it now |", "|---|---|---|"] if remedied else ["None."]
    lines += [_remedy(audit) for audit in remedied]
    noted = [audit for audit in audits if audit.findings]
    lines += ["", "## Findings", "", *(f"- `{a.task_id}`: {'; '.join(a.findings)}" for a in noted)] if noted else []
    return "\n".join(lines) + "\n"


def _totals(audits: list[Audit], failed: list[Audit], remedied: list[Audit]) -> list[str]:
    tried = Counter(f"{audit.sizes} sizes on {audit.device}" for audit in audits)
    answers = Counter(name for audit in audits for name in audit.proof.get("passed_at_first", {}))
    lines = [
        f"{len(audits)} tasks ({', '.join(f'{count} at {how}' for how, count in tried.items())}): "
        f"{len(audits) - len(failed)} pass, {len(remedied)} of them with remedies; {len(failed)} fail.",
        "",
        "| trivial answer | tasks on which it passed without remedy |",
        "|---|---|",
    ]
    return lines + [f"| {name} | {count} |" for name, count in answers.most_common()]


def _failure(audit: Audit) -> str:
    return f"- `{audit.task_id}`: {'; '.join(audit.failures)}"


def _remedy(audit: Audit) -> str:
    passed = "<br>".join(f"{name}: {', '.join(by) or '-'}" for name, by in audit.proof["passed_at_first"].items())
    special = audit.special
    now = [recipe.name for recipe in special.recipes] + [f"timed: {recipe.name}" for recipe in special.timed]
    if special.comparison.atol_of_max_frac is not None:
        now.append(f"atol {special.comparison.atol_of_max_frac:g} of the maximum")
    if special.comparison.rtol is not None:
        now.append(f"rtol {special.comparison.rtol:g}")
    now += special.comparison.invariants
    return f"| `{audit.task_id}` | {passed} | {', '.join(now)} |"
