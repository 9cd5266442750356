"""The OpenEnv environment: `reset`, `step` and `state`, one session each, over one shared client."""

from __future__ import annotations

from typing import Any

from kernel_grader_client import KernelGrader
from openenv.core.env_server.interfaces import Environment

from kernel_grader_openenv import observe
from kernel_grader_openenv.episode import ANSWER_S, Misused, Session
from kernel_grader_openenv.records import KernelAction, KernelObservation, KernelState

OPTIONS = frozenset({"split", "language", "max_turns", "reward", "run_id", "labels"})
ANSWER_MIN_S = 0.1


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    """`grader` is shared by all sessions and must not raise on failure; `answer_s` is how long a step takes at most."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, grader: KernelGrader, answer_s: float = ANSWER_S) -> None:
        super().__init__()
        self._answer_s = answer_s
        self._session = Session(grader, answer_s)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        answer_s: float | None = None,
        **options: Any,
    ) -> KernelObservation:
        """A new episode, of `task_id` or of one drawn from `split` by `seed`; or the one that `episode_id` names.

        `answer_s` lowers the limit of steps, for clients with a short time-out. Raises Misused, Refused.
        """
        if unknown := options.keys() - OPTIONS:
            takes = ", ".join(["seed", "episode_id", "task_id", "answer_s", *sorted(OPTIONS)])
            raise Misused(f"reset knows no {', '.join(sorted(unknown))}; it takes {takes}")
        self._session.answer_s = self._limit(answer_s)
        given = {"task_id": task_id, "seed": seed, **options}
        if episode_id is None:
            return KernelObservation(**observe.fields(self._session.open(**given)))
        if any(value is not None for value in given.values()):
            raise Misused("episode_id takes up an episode that is there: it goes with answer_s alone")
        return KernelObservation(**observe.fields(self._session.resume(episode_id)))

    def step(self, action: KernelAction, timeout_s: float | None = None, **kwargs: Any) -> KernelObservation:
        """Grade a source for the present turn. Raises Misused, Refused."""
        return KernelObservation(**observe.fields(self._session.step(action.code, action.turn)))

    @property
    def state(self) -> KernelState:
        """As of the last answer; asks nobody."""
        return KernelState(**observe.state(self._session.episode))

    def _limit(self, answer_s: float | None) -> float:
        if answer_s is None:
            return self._answer_s
        if not isinstance(answer_s, int | float) or not ANSWER_MIN_S <= answer_s <= self._answer_s:
            raise Misused(f"answer_s must be a number of seconds from {ANSWER_MIN_S} to {self._answer_s:g}")
        return answer_s
