"""The prompt of every later turn: what became of the last source, and what to do about it."""

import re
from collections.abc import Mapping
from typing import Any

from evaluator.verdicts import Verdict

FOLLOW_UP_VERSION = 1
"""Raised with every change of wording, as PROMPT_VERSION is."""

KERNELS_LISTED = 4

_OUTCOME: dict[Verdict, str] = {
    Verdict.FORMAT_VIOLATION: "was refused: it breaks a rule",
    Verdict.COMPILE_ERROR: "does not compile",
    Verdict.RUNTIME_ERROR: "failed while it ran",
    Verdict.TIMEOUT: "took too long",
    Verdict.INCORRECT: "computes a wrong result",
    Verdict.REJECTED_TIMING: "has a timing that cannot be accepted",
    Verdict.CORRECT: "is correct",
}
_ADVICE: dict[Verdict, str] = {
    Verdict.FORMAT_VIOLATION: "Keep the rules of the first message; nothing else of the source was looked at.",
    Verdict.COMPILE_ERROR: "Repair the first error; later ones may follow from it.",
    Verdict.RUNTIME_ERROR: "Look at shapes, strides, masks and launch parameters at the line named above.",
    Verdict.TIMEOUT: "Look for loops that do not end, for autotuning over too many configurations, and for work that "
    "grows faster than the input.",
    Verdict.INCORRECT: "Make it right before it is fast. Where only the last elements of a row or block are wrong, "
    "look at the masks; where all are a little off, at the precision of accumulators.",
    Verdict.REJECTED_TIMING: "All work of a call has to happen inside that call, on the current stream.",
    Verdict.CORRECT: "A correct source stays worth what it earned. Now make it faster: fewer passes over memory, fused "
    "operators, larger tiles, better use of the caches.",
}


def follow_up(
    verdict: Verdict, result: Mapping[str, Any], *, turn: int, max_turns: int, best_speedup: float | None = None
) -> str:
    """The message before `turn`, about the verdict of the turn before it; the same text for the same arguments.

    `result` is the API's `result` object. Only what is in it is told: its feedback is written for the policy.
    """
    parts = [f"# Turn {turn} of {max_turns}", f"Your last source {_OUTCOME[verdict]} (`{verdict}`)."]
    feedback = str(result.get("feedback") or "").strip("\n")
    if feedback:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", feedback)), default=0))
        parts.append(f"{fence}text\n{feedback}\n{fence}")
    parts += _measured(result)
    if best_speedup is not None:
        parts.append(f"Best speedup so far: {best_speedup:.3f}.")
    parts.append(_ADVICE[verdict])
    parts.append("Answer with the whole source again, in one Python code block.")
    return "\n\n".join(parts) + "\n"


def _measured(result: Mapping[str, Any]) -> list[str]:
    """Where the time goes, if it is known."""
    kernels = [kernel for kernel in result.get("kernels") or [] if "name" in kernel and "time_share" in kernel]
    if not kernels:
        return []
    lines = [f"- {kernel['time_share']:.0%} `{str(kernel['name'])[:120]}`" for kernel in kernels[:KERNELS_LISTED]]
    return ["\n".join(["Share of the device's time by kernel:", *lines])]
