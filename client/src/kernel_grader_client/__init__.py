"""Client of Kernel Grader: send GPU kernels, get verdicts and rewards. Needs httpx, and nothing of the server."""

from kernel_grader_client.aio import AsyncKernelGrader
from kernel_grader_client.aio_episode import AsyncEpisode
from kernel_grader_client.client import KernelGrader
from kernel_grader_client.episode import Episode
from kernel_grader_client.errors import (
    Conflict,
    KernelGraderError,
    NotFound,
    NotGraded,
    Problem,
    Refused,
    Unauthorized,
    Unavailable,
)
from kernel_grader_client.items import Ended, Item
from kernel_grader_client.models import EpisodeState, Failure, Place, Result, Submission, Turn
from kernel_grader_client.records import Attempt, Audit, Kind, Leader, Meta, Queue, Run, Task, TaskDetail, Worker
from kernel_grader_client.wire import VERSION as __version__

__all__ = [
    "AsyncEpisode",
    "AsyncKernelGrader",
    "Attempt",
    "Audit",
    "Conflict",
    "Ended",
    "Episode",
    "EpisodeState",
    "Failure",
    "Item",
    "KernelGrader",
    "KernelGraderError",
    "Kind",
    "Leader",
    "Meta",
    "NotFound",
    "NotGraded",
    "Place",
    "Problem",
    "Queue",
    "Refused",
    "Result",
    "Run",
    "Submission",
    "Task",
    "TaskDetail",
    "Turn",
    "Unauthorized",
    "Unavailable",
    "Worker",
    "__version__",
]
