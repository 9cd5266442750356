"""The texts that a policy reads, with a version."""

from evaluator.prompts.problem import PROMPT_VERSION, problem

__all__ = ["PROMPT_VERSION", "problem"]
