"""`AsyncEpisode`: one task, several turns, for programs with an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_grader_client.connection import AsyncConnection
from kernel_grader_client.models import EpisodeState, Submission

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kernel_grader_client.options import SubmissionOptions


class AsyncEpisode:
    """An open episode. `state` is what the server last said."""

    def __init__(self, connection: AsyncConnection, state: EpisodeState) -> None:
        self._connection = connection
        self.state = state

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def problem(self) -> str:
        """The prompt for the policy."""
        return self.state.problem

    @property
    def next_prompt(self) -> str | None:
        """What to tell the policy before its next turn; None before the first verdict and after the last turn."""
        return self.state.next_prompt

    @property
    def done(self) -> bool:
        """Whether no turn is left."""
        return self.state.done

    async def step(self, code: str, *, tries: int = 1, **options: Unpack[SubmissionOptions]) -> Submission:
        """Grade a source for the present turn. Without a verdict the turn is not used up; see `on_failure`."""
        body = {"code": code, "episode_id": self.id, "turn": self.state.turn, **options}
        submission = await self._connection.run(self._connection.protocol.grade(body, tries))
        await self.refresh()
        return self._connection.checked(submission)

    async def refresh(self) -> EpisodeState:
        """Ask the server for the present state."""
        self.state = await self._connection.run(self._connection.protocol.episode(self.id))
        return self.state

    async def cancel(self) -> EpisodeState:
        """End it and cancel what it has in flight."""
        told = await self._connection.run(self._connection.protocol.post(f"/episodes/{self.id}/cancel"))
        self.state = EpisodeState.from_json(told)
        return self.state
