"""Client of Kernel Grader: send GPU kernels, get verdicts and rewards. Needs httpx, and nothing of the server."""

from kernel_grader_client.aio import AsyncEpisode, AsyncKernelGrader
from kernel_grader_client.client import Episode, KernelGrader
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
from kernel_grader_client.models import Ended, EpisodeState, Failure, Item, Place, Submission, Turn
from kernel_grader_client.wire import VERSION as __version__

__all__ = [
    "AsyncEpisode",
    "AsyncKernelGrader",
    "Conflict",
    "Ended",
    "Episode",
    "EpisodeState",
    "Failure",
    "Item",
    "KernelGrader",
    "KernelGraderError",
    "NotFound",
    "NotGraded",
    "Place",
    "Problem",
    "Refused",
    "Submission",
    "Turn",
    "Unauthorized",
    "Unavailable",
    "__version__",
]
