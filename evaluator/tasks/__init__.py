"""Task files in KernelBench's format: finding, checking, splitting and sizing them. Nothing here runs a task."""

from evaluator.tasks.catalogue import Catalogue
from evaluator.tasks.sizes import source_for
from evaluator.tasks.task import BadTaskId, Task, TaskError, TaskSetError, UnknownTask, UnsupportedTask

__all__ = [
    "BadTaskId",
    "Catalogue",
    "Task",
    "TaskError",
    "TaskSetError",
    "UnknownTask",
    "UnsupportedTask",
    "source_for",
]
