"""The first prompt of an episode: all that a policy is told of a task and of how its answer is judged."""

import re
from functools import cache
from importlib import resources
from string import Template

from evaluator.config import PrecisionPolicy
from evaluator.limits import Limits
from evaluator.prompts import wording
from evaluator.reward import RewardMode
from evaluator.submission import Language
from evaluator.tasks.sizes import source_for
from evaluator.tasks.task import Device, Task

PROMPT_VERSION = 2
"""Raised with every change of wording, so that samples of different prompts are never mixed unseen."""


def problem(
    task: Task,
    *,
    device: Device,
    language: Language,
    gpu_name: str | None = None,
    limits: Limits | None = None,
    reward_mode: RewardMode = "speedup",
    partial_credit: bool = False,
    max_turns: int = 4,
    precision_policy: PrecisionPolicy = "reject",
) -> str:
    """The prompt, the same text for the same arguments. Raises UnsupportedTask where the task has problems."""
    reference = source_for(task, device).strip("\n")
    values = {
        "task_id": task.task_id,
        "kernels": wording.KERNELS[language],
        "reference": reference,
        "fence": _fence(reference),
        "language_rules": wording.LANGUAGE_RULES[language],
        "torch_rules": wording.torch_rules(task.level),
        "device": wording.device(device, gpu_name, language),
        "precision": wording.PRECISION[precision_policy],
        "special": _special(task),
        "turns": wording.turns(max_turns),
        "reward": wording.reward(reward_mode, partial_credit=partial_credit),
        "example": _text(f"example_{language}.txt").strip("\n"),
        **wording.limits(limits or Limits()),
    }
    return Template(_text("problem.md")).substitute(values)


def _special(task: Task) -> str:
    told = task.special.disclosed
    return f"- This task: {' '.join(told)}" if told else "- This task: no special inputs."


def _fence(text: str) -> str:
    """A code fence that the text cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


@cache
def _text(name: str) -> str:
    return resources.files("evaluator.prompts").joinpath(name).read_text(encoding="utf-8")
