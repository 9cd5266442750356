"""Many episodes side by side: all are opened at once, and the answers of a turn are graded through one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

from kernel_grader_client import Ended, EpisodeState, Item, KernelGrader, Submission
from kernel_grader_client.errors import refused

from train.plays import NO_CODE, Answer, Opening, Play

Policy: TypeAlias = Callable[[Sequence[Play]], Sequence[Answer]]

TRIES = 3
THREADS = 16
# what the server says of one source or one episode; anything else it refuses is a mistake in the set-up
OF_ONE = {409: "the episode is no longer open", 413: "the source is too large"}


class Episodes:
    """Plays them over one client, which retries what did not arrive under its idempotency keys.

    `tries` is how often a source is sent in all while the server fails to grade it and sees hope; after that the turn
    has failed, and has no reward. `on_ended` is told of each answer that has its verdict. `item` is what else `Item`
    takes, such as `priority`, `gpu` or `deadline_s`.
    """

    def __init__(
        self,
        grader: KernelGrader,
        *,
        run_id: str | None = None,
        tries: int = TRIES,
        on_ended: Callable[[Play], None] | None = None,
        **item: Any,
    ) -> None:
        if tries < 1:
            raise ValueError(f"tries must be at least 1, not {tries}")
        self._grader = grader
        self._run_id = run_id
        self._tries = tries
        self._on_ended = on_ended or (lambda play: None)
        self._item = item

    def play(self, openings: Sequence[Opening], policy: Policy) -> list[Play]:
        """Play all to their ends: `policy` answers the prompts of those that are active, in their order."""
        plays = self.open(openings)
        while active := [play for play in plays if play.active]:
            self.grade(active, policy(active))
        return plays

    def open(self, openings: Sequence[Opening]) -> list[Play]:
        """Open an episode for each, in order. Raises Refused, Unavailable."""
        with ThreadPoolExecutor(THREADS) as pool:
            states = list(pool.map(self._open, openings))
        return [Play.begin(opening, state) for opening, state in zip(openings, states, strict=True)]

    def grade(self, plays: Sequence[Play], answers: Sequence[Answer]) -> None:
        """Have one answer of each graded, all through one batch; the prompts of the next turn are fetched meanwhile.

        Raises Unavailable when the client's patience ends, Refused for a mistake in the set-up.
        """
        found: dict[int, Ended] = {}
        given = list(zip(plays, answers, strict=True))
        with ThreadPoolExecutor(THREADS) as pool:
            refreshed: dict[int, Future[EpisodeState]] = {}
            for number in range(1, self._tries + 1):
                left = [at for at in range(len(given)) if at not in found]
                items = [self._to_send(at, *given[at]) for at in left]
                for ended in self._grader.submit_many(items, run_id=self._run_id) if items else ():
                    if number < self._tries and _hopeful(ended.submission):
                        continue
                    at = int(ended.custom_id)
                    found[at] = ended
                    if ended.verdict is not None and plays[at].turn < plays[at].state.max_turns:
                        refreshed[at] = pool.submit(self._refresh, plays[at].state.id)
                    self._on_ended(plays[at])
        for at, (play, answer) in enumerate(given):
            play.answered(answer, found[at].submission, _failure(found[at]))
            if at in refreshed:
                play.told(refreshed[at].result())

    def _open(self, opening: Opening) -> EpisodeState:
        return self._grader.episode(
            opening.task_id,
            language=opening.language,  # type: ignore[arg-type]  # the server knows which there are
            max_turns=opening.max_turns,
            seed=opening.seed,
            run_id=self._run_id,
        ).state

    def _refresh(self, episode_id: str) -> EpisodeState:
        return self._grader.resume(episode_id).state

    def _to_send(self, at: int, play: Play, answer: Answer) -> Item:
        code = answer.code or NO_CODE
        return Item(str(at), code, episode_id=play.state.id, turn=play.turn, **self._item)


def _hopeful(submission: Submission | None) -> bool:
    if submission is None or submission.graded:
        return False
    return submission.failure is not None and submission.failure.retryable


def _failure(ended: Ended) -> str | None:
    """Why there is no verdict. Raises Refused where that is a mistake in the set-up."""
    if ended.problem is not None:
        if ended.problem.status not in OF_ONE:
            raise refused(ended.problem)
        return OF_ONE[ended.problem.status]
    if ended.submission is None or ended.submission.graded:
        return None
    failure = ended.submission.failure
    return str(failure or ended.submission.status)
