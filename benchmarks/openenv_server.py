"""OpenEnv's own server over an environment that does nothing with a source. Runs where openenv-core is installed.

`python benchmarks/openenv_server.py PORT SESSIONS`; imports nothing of this project.
"""

import sys
import time
from typing import Any

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Source(Action):
    """A kernel's source, and how long grading it is to take."""

    code: str
    eval_s: float = 0.0


class Verdict(Observation):
    """What a policy would be told."""

    feedback: str = ""
    verdict: str = ""


class Nothing(Environment):
    """Waits, and finds every kernel right."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Verdict:
        return Verdict(feedback="write a kernel")

    def step(self, action: Source, timeout_s: float | None = None, **kwargs: Any) -> Verdict:
        if action.eval_s:
            time.sleep(action.eval_s)
        return Verdict(reward=1.3, verdict="correct", feedback="made up")

    @property
    def state(self) -> State:
        return State()


if __name__ == "__main__":
    app = create_fastapi_app(Nothing, Source, Verdict, max_concurrent_envs=int(sys.argv[2]))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
