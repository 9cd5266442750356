"""Rewards in the shapes that trainers expect; each module is for one of them and imports nothing of it."""

from kernel_grader_client.adapters.extract import extract_code
from kernel_grader_client.adapters.grading import grade_all
from kernel_grader_client.adapters.reward import KernelReward

__all__ = ["KernelReward", "extract_code", "grade_all"]
