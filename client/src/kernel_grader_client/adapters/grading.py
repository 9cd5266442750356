"""What all adapters do: a list of completions, each for a task, graded at once through one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from kernel_grader_client.adapters.extract import extract_code
from kernel_grader_client.client import KernelGrader
from kernel_grader_client.errors import refused
from kernel_grader_client.items import Ended, Item

# a text, or messages as chat templates take them
Completion: TypeAlias = str | Sequence[Any]
# graded like any other, so that the verdict on a completion without code is the server's as well
NO_CODE = "# the completion holds no code\n"


def grade_all(
    grader: KernelGrader,
    completions: Sequence[Completion],
    task_ids: Sequence[str],
    *,
    run_id: str | None = None,
    tries: int = 3,
    **item: Any,
) -> list[Ended]:
    """What became of each, in order. Those that were not graded are sent again, `tries` in all.

    `item` is what else `Item` takes. Raises Refused where the server refuses one for another reason than its size: that
    is a mistake in the set-up, which training on would hide.
    """
    if len(completions) != len(task_ids):
        raise ValueError(f"{len(completions)} completions, but {len(task_ids)} task ids")
    items = {
        str(number): Item(str(number), extract_code(text_of(completion)) or NO_CODE, task_id=task_id, **item)
        for number, (completion, task_id) in enumerate(zip(completions, task_ids, strict=True))
    }
    found: dict[str, Ended] = {}
    for _ in range(max(tries, 1)):
        left = [item for name, item in items.items() if name not in found or _again(found[name])]
        if left:
            found |= {ended.custom_id: ended for ended in grader.submit_many(left, run_id=run_id)}
    for ended in found.values():
        if ended.problem is not None and ended.problem.status != 413:
            raise refused(ended.problem)
    return [found[name] for name in items]


def text_of(completion: Completion) -> str:
    """The text of a completion: of messages, the last one of the assistant."""
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if _of(message, "role") == "assistant":
            content = _of(message, "content") or ""
            if isinstance(content, str):
                return content
            return "".join(_of(part, "text") or "" for part in content if _of(part, "type") == "text")
    return ""


def _of(message: Any, name: str) -> Any:
    """Messages are dicts in some trainers and objects in others."""
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def _again(ended: Ended) -> bool:
    submission = ended.submission
    if submission is None or submission.graded:
        return False
    return submission.failure is not None and submission.failure.retryable
