"""The texts that a policy reads, with a version."""

from evaluator.prompts.follow_up import FOLLOW_UP_VERSION, follow_up
from evaluator.prompts.problem import PROMPT_VERSION, problem

__all__ = ["FOLLOW_UP_VERSION", "PROMPT_VERSION", "follow_up", "problem"]
