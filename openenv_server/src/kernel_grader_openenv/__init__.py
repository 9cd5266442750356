"""Kernel Grader as an OpenEnv environment: the environment, its server, and a typed client."""

from kernel_grader_openenv.client import KernelEnv, StaleAnswer
from kernel_grader_openenv.records import KernelAction, KernelObservation, KernelState

__all__ = ["KernelAction", "KernelEnv", "KernelObservation", "KernelState", "StaleAnswer"]
