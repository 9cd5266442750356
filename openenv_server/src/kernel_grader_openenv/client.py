"""`KernelEnv`: OpenEnv's client with this environment's types. It refuses an answer to another source than it sent."""

from __future__ import annotations

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from kernel_grader_openenv.episode import sha_of
from kernel_grader_openenv.records import KernelAction, KernelObservation, KernelState


class StaleAnswer(Exception):
    """An answer to an earlier step was read. Close this client; a new one takes the episode up with `episode_id`."""


class KernelEnv(EnvClient[KernelAction, KernelObservation, KernelState]):
    """`async with KernelEnv(base_url=...) as env`, or `KernelEnv(base_url=...).sync()` for programs that wait.

    With a `message_timeout_s` under 60, tell `reset` an `answer_s` well below it.
    """

    _sent: str | None = None

    def _step_payload(self, action: KernelAction) -> dict[str, Any]:
        self._sent = sha_of(action.code)
        return dict(action.model_dump(exclude_defaults=True))

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[KernelObservation]:
        known = KernelObservation.model_fields
        found = {name: value for name, value in payload["observation"].items() if name in known}
        observation = KernelObservation(
            **{**found, "reward": payload.get("reward"), "done": payload.get("done", False)}
        )
        if observation.code_sha not in (None, self._sent):
            raise StaleAnswer(f"an answer for {observation.code_sha} came where {self._sent} was sent")
        return StepResult(observation=observation, reward=observation.reward, done=observation.done)

    def _parse_state(self, payload: dict[str, Any]) -> KernelState:
        return KernelState(**payload)
