"""`KernelGrader`: the client for programs that wait. Safe to share between threads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from kernel_grader_client import wire
from kernel_grader_client.connection import Connection
from kernel_grader_client.episode import Episode
from kernel_grader_client.items import Ended, Item
from kernel_grader_client.models import EpisodeState, Submission
from kernel_grader_client.protocol import WAIT_S, Protocol, split
from kernel_grader_client.reading import Reading
from kernel_grader_client.resources import named, run_path
from kernel_grader_client.steps import Patience

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kernel_grader_client.options import EpisodeOptions, OnFailure, SubmissionOptions


class KernelGrader(Reading):
    """A connection to a server.

    `url` and `api_key` default to the environment's KERNEL_GRADER_URL and KERNEL_GRADER_KEY. `on_failure` says what
    becomes of a submission that ended without a verdict: `raise` raises NotGraded, `none` returns it with a `reward` of
    None. `patience_s` is for how long requests are repeated while the server is away; `wait_s` how long one request
    waits at most. Other options go to httpx.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        on_failure: OnFailure = "raise",
        patience_s: float = 600.0,
        wait_s: float = WAIT_S,
        **httpx_options: Any,
    ) -> None:
        http = httpx.Client(**{**wire.options(url, api_key), **httpx_options})
        self._protocol = Protocol(Patience(patience_s), wait_s)
        self._connection = Connection(http, self._protocol, on_failure)

    def __enter__(self) -> KernelGrader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    # --- submissions

    def submit(
        self,
        code: str,
        *,
        task_id: str | None = None,
        episode_id: str | None = None,
        **options: Unpack[SubmissionOptions],
    ) -> Submission:
        """Send a source, for a task on its own or for an episode's turn, and return at once."""
        body = {"code": code, "task_id": task_id, "episode_id": episode_id, **options}
        return self._connection.run(self._protocol.submit(body))

    def wait(self, submission: Submission | str, timeout_s: float | None = None) -> Submission:
        """Return it once it has ended, or as it is after `timeout_s`. Raises NotGraded by `on_failure`."""
        return self._connection.checked(self._connection.run(self._protocol.wait(submission, timeout_s)))

    def grade(
        self,
        code: str,
        *,
        task_id: str | None = None,
        episode_id: str | None = None,
        tries: int = 1,
        **options: Unpack[SubmissionOptions],
    ) -> Submission:
        """Submit and wait. Raises NotGraded by `on_failure`, after `tries` where the server sees hope."""
        body = {"code": code, "task_id": task_id, "episode_id": episode_id, **options}
        return self._connection.checked(self._connection.run(self._protocol.grade(body, tries)))

    def cancel(self, submission: Submission | str) -> Submission:
        """Stop it, waiting or running."""
        return Submission.from_json(self._post(f"/submissions/{named(submission)}/cancel"))

    def regrade(self, submission: Submission | str) -> Submission:
        """Have it graded once more, beside the old grade; needs a key with the scope `admin`."""
        return Submission.from_json(self._post(f"/submissions/{named(submission)}/regrade"))

    def submit_many(self, items: Sequence[Item], run_id: str | None = None) -> Iterator[Ended]:
        """Send many in one batch (several where they are too many for one) and yield each as it ends, each once.

        Nothing is raised for an item: see `Ended`. Items that there was no room for are sent again.
        """
        started, left = time.monotonic(), list(items)
        while left:
            again: list[Item] = []
            problem = None
            by_name = {item.custom_id: item for item in left}
            batches = [self.create_batch(batch, run_id) for batch in split(left)]
            for batch_id in batches:
                for ended in self.drain(batch_id):
                    if ended.problem is not None and ended.problem.retryable:
                        problem = ended.problem
                        again.append(by_name[ended.custom_id])
                    else:
                        yield ended
            if again:
                self._connection.run(self._protocol.turned_away(started, problem))
            left = again

    def create_batch(self, items: Sequence[Item], run_id: str | None = None) -> str:
        """Send up to 256 items and return at once: the id to `drain` it by, in another program if need be."""
        return self._connection.run(self._protocol.create_batch(items, run_id))

    def drain(self, batch_id: str) -> Iterator[Ended]:
        """Every item of a batch as it ends, from the first one on, refused ones too."""
        cursor: str | None = "0"
        while cursor is not None:
            endings, cursor = self._connection.run(self._protocol.next_endings(batch_id, cursor))
            yield from endings

    # --- episodes and runs

    def episode(self, task_id: str | None = None, **options: Unpack[EpisodeOptions]) -> Episode:
        """Open an episode for a task, or for one drawn from a split."""
        body = {"task_id": task_id, **options}
        return Episode(self._connection, self._connection.run(self._protocol.open_episode(body)))

    def resume(self, episode_id: str) -> Episode:
        """An episode that is there already."""
        return Episode(self._connection, self._connection.run(self._protocol.episode(episode_id)))

    def step(
        self, episode: EpisodeState | str, code: str, *, tries: int = 1, **options: Unpack[SubmissionOptions]
    ) -> Submission:
        """Grade a source for an episode's present turn, for who keeps no `Episode`."""
        return self.grade(code, episode_id=named(episode), tries=tries, **options)

    def cancel_run(self, run_id: str) -> int:
        """End everything of a run; how many submissions that ended."""
        return int(self._post(f"{run_path(run_id)}/cancel")["cancelled"])

    def _post(self, path: str) -> Any:
        return self._connection.run(self._protocol.post(path))
