"""The catalogue as clients see it."""

from typing import Any

from app.context import Context
from app.error_codes import ErrorCode
from app.problems import FieldError, Problem
from evaluator.tasks import BadTaskId, Task, UnknownTask, UnsupportedTask, source_for
from evaluator.tasks.audits import Audit


def list_tasks(ctx: Context, query: dict[str, Any]) -> dict[str, Any]:
    """One page of the catalogue."""
    limit = query["limit"]
    found = ctx.tasks.list(
        level=query.get("level"), split=query.get("split"), after=query.get("cursor"), limit=limit + 1
    )
    more = len(found) > limit
    return {
        "data": [task_view(task) for task in found[:limit]],
        "next_cursor": found[limit - 1].task_id if more else None,
    }


def get_task(ctx: Context, task_id: str) -> dict[str, Any]:
    """One task with its source. Raises Problem (404) where there is none."""
    task = known(ctx, task_id)
    return {
        **task_view(task),
        "source": source_for(task, ctx.task_device) if task.supported else task.source,
        "problems": list(task.reasons),
        "kind": task.kind.to_json(),
        "special_inputs": list(task.special.disclosed),
        "audit": _audit_view(task.audit),
    }


def _audit_view(audit: Audit | None) -> dict[str, Any] | None:
    """None where this text was never audited: it is served, and nothing is known of what passes on it."""
    if audit is None:
        return None
    return {
        "passed": audit.passed,
        "device": audit.device,
        "sizes": audit.sizes,
        "failures": list(audit.failures),
        "findings": list(audit.findings),
        "facts": audit.facts,
        "passed_at_first": audit.proof.get("passed_at_first", {}),
    }


def known(ctx: Context, task_id: str) -> Task:
    """The task, servable or not. Raises Problem (404) where there is none."""
    try:
        return ctx.tasks.get(task_id)
    except (BadTaskId, UnknownTask) as error:
        raise Problem(ErrorCode.NOT_FOUND, f"{_sentence(error)}") from None


def servable(ctx: Context, task_id: str) -> Task:
    """The task, if submissions are taken for it. Raises Problem (422)."""
    try:
        return ctx.tasks.servable(task_id)
    except (BadTaskId, UnknownTask, UnsupportedTask) as error:
        detail = f"{error}"
        raise Problem(ErrorCode.UNKNOWN_TASK, detail, errors=[FieldError("#/task_id", detail)]) from None


def task_view(task: Task) -> dict[str, Any]:
    return {
        "id": task.task_id,
        "level": task.level,
        "number": task.number,
        "name": task.name,
        "split": task.split,
        "family": task.family,
        "supported": task.supported,
    }


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."
