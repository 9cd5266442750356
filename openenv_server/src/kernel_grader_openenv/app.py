"""The application: OpenEnv's own server over the environment, with answers kept to their requests."""

from __future__ import annotations

from collections.abc import Callable

from kernel_grader_client import KernelGrader
from openenv.core.env_server.http_server import create_fastapi_app

from kernel_grader_openenv.environment import KernelEnvironment
from kernel_grader_openenv.episode import ANSWER_S
from kernel_grader_openenv.one_answer import App, OneAnswer
from kernel_grader_openenv.records import KernelAction, KernelObservation

# for how long one request is repeated while the grader is away; then the step is answered as `unavailable`
PATIENCE_S = 10.0
# beyond `answer_s`; together they must stay under the 60 s after which OpenEnv's clients give up
LATE_S = 10.0


def create(url: str | None, api_key: str | None, sessions: int, answer_s: float = ANSWER_S) -> App:
    """For `sessions` at once. None for `url` and `api_key` means KERNEL_GRADER_URL and KERNEL_GRADER_KEY."""
    grader = KernelGrader(url, api_key, on_failure="none", patience_s=PATIENCE_S)
    make: Callable[[], KernelEnvironment] = lambda: KernelEnvironment(grader, answer_s)  # noqa: E731
    app = create_fastapi_app(make, KernelAction, KernelObservation, max_concurrent_envs=sessions)
    return OneAnswer(app, answer_s + LATE_S)
