"""`KernelGrader`: the client for programs that wait. Safe to share between threads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx

from kernel_grader_client import resources, wire
from kernel_grader_client.models import Ended, EpisodeState, Item, Submission
from kernel_grader_client.protocol import WAIT_S, Protocol, split
from kernel_grader_client.steps import Call, Patience, Pause, Reply, Steps

T = TypeVar("T")
OnFailure = Literal["raise", "none"]


class KernelGrader:
    """A connection to a server.

    `on_failure` says what becomes of a submission that ended without a verdict: `raise` raises NotGraded, `none`
    returns it with a `reward` of None. `patience_s` is for how long requests are repeated while the server is away.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        api_key: str | None = None,
        *,
        on_failure: OnFailure = "raise",
        patience_s: float = 600.0,
        wait_s: float = WAIT_S,
        **httpx_options: Any,
    ) -> None:
        self._http = httpx.Client(**{**wire.options(url, api_key), **httpx_options})
        self._protocol = Protocol(Patience(patience_s), wait_s)
        self._on_failure = on_failure

    def __enter__(self) -> KernelGrader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # --- submissions

    def submit(self, code: str, *, task_id: str | None = None, **more: Any) -> Submission:
        """Send a source and return at once; `more` are fields of the request, such as `episode_id` or `priority`."""
        return self._run(self._protocol.submit({"code": code, "task_id": task_id, **more}))

    def wait(self, submission: Submission | str, timeout_s: float | None = None) -> Submission:
        """Return it once it has ended, or as it is after `timeout_s`. Raises NotGraded by `on_failure`."""
        return self._checked(self._run(self._protocol.wait(submission, timeout_s)))

    def grade(self, code: str, *, task_id: str | None = None, tries: int = 1, **more: Any) -> Submission:
        """Submit and wait. Raises NotGraded by `on_failure`, after `tries` where the server sees hope."""
        return self._checked(self._run(self._protocol.grade({"code": code, "task_id": task_id, **more}, tries)))

    def submission(self, submission_id: str) -> Submission:
        """As it is now."""
        return Submission.from_json(self._get(f"/submissions/{submission_id}"))

    def cancel(self, submission: Submission | str) -> Submission:
        """Stop it, waiting or running."""
        name = submission if isinstance(submission, str) else submission.id
        return Submission.from_json(self._run(self._protocol.post(f"/submissions/{name}/cancel")))

    def code(self, submission_id: str) -> str:
        return str(self._get(f"/submissions/{submission_id}/code"))

    def log(self, submission_id: str) -> str:
        return str(self._get(f"/submissions/{submission_id}/log"))

    def submit_many(self, items: Sequence[Item], run_id: str | None = None) -> Iterator[Ended]:
        """Send many in one batch (several where they are too many for one) and yield each as it ends, each once.

        Nothing is raised for an item: see `Ended`. Items that there was no room for are sent again.
        """
        started, left = time.monotonic(), list(items)
        while left:
            again: list[Item] = []
            problem = None
            by_name = {item.custom_id: item for item in left}
            batches = [self._run(self._protocol.create_batch(batch, run_id)) for batch in split(left)]
            for batch_id in batches:
                cursor: str | None = "0"
                while cursor is not None:
                    endings, cursor = self._run(self._protocol.next_endings(batch_id, cursor))
                    for ended in endings:
                        if ended.problem is not None and ended.problem.retryable:
                            problem = ended.problem
                            again.append(by_name[ended.custom_id])
                        else:
                            yield ended
            if again:
                self._run(self._protocol.turned_away(started, problem))
            left = again

    # --- episodes and runs

    def episode(self, task_id: str | None = None, **more: Any) -> Episode:
        """Open an episode; `more`: split, seed, language, max_turns, reward, run_id, labels."""
        return Episode(self, self._run(self._protocol.open_episode({"task_id": task_id, **more})))

    def resume(self, episode_id: str) -> Episode:
        """An episode that is there already."""
        return Episode(self, self._run(self._protocol.episode(episode_id)))

    def cancel_run(self, run_id: str) -> int:
        """End everything of a run; how many submissions that ended."""
        return int(self._run(self._protocol.post(f"{resources.run_path(run_id)}/cancel"))["cancelled"])

    def run(self, run_id: str) -> dict[str, Any]:
        """Counts, verdict mix and rates."""
        return dict(self._get(resources.run_path(run_id)))

    # --- lists and the server itself

    def episodes(self, **filters: Any) -> Iterator[EpisodeState]:
        return map(EpisodeState.from_json, self._pages("/episodes", filters))

    def submissions(self, **filters: Any) -> Iterator[Submission]:
        return map(Submission.from_json, self._pages("/submissions", filters))

    def tasks(self, **filters: Any) -> Iterator[dict[str, Any]]:
        return self._pages("/tasks", filters)

    def task(self, task_id: str) -> dict[str, Any]:
        return dict(self._get(resources.task_path(task_id)))

    def leaderboard(self, task_id: str, **filters: Any) -> list[dict[str, Any]]:
        return list(self._get(f"{resources.task_path(task_id)}/leaderboard", filters)["data"])

    def queue(self) -> dict[str, Any]:
        return dict(self._get("/queue"))

    def workers(self) -> list[dict[str, Any]]:
        return list(self._get("/workers")["data"])

    def meta(self) -> dict[str, Any]:
        return dict(self._get("/meta"))

    # --- how it is done

    def _checked(self, submission: Submission) -> Submission:
        return submission.require_verdict() if self._on_failure == "raise" else submission

    def _get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return self._run(self._protocol.get(path, params))

    def _pages(self, path: str, filters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            rows, cursor = self._run(resources.page(self._protocol, path, filters, cursor))
            yield from rows
            if cursor is None:
                return

    def _run(self, steps: Steps[T]) -> T:
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(self._do(wanted))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _do(self, wanted: Call | Pause) -> Reply:
        if isinstance(wanted, Pause):
            time.sleep(wanted.seconds)
            return Reply()
        try:
            return wire.reply(self._http.request(**wire.arguments(wanted)))
        except httpx.TransportError as error:
            return Reply(error=error)


class Episode:
    """An open episode. `state` is what the server last said."""

    def __init__(self, grader: KernelGrader, state: EpisodeState) -> None:
        self._grader = grader
        self.state = state

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def problem(self) -> str:
        """The prompt for the policy."""
        return self.state.problem

    @property
    def done(self) -> bool:
        return self.state.done

    def step(self, code: str, *, tries: int = 1, **more: Any) -> Submission:
        """Grade a source for the present turn. Without a verdict the turn is not used up; see `on_failure`."""
        body = {"code": code, "episode_id": self.id, "turn": self.state.turn, **more}
        submission = self._grader._run(self._grader._protocol.grade(body, tries))
        self.refresh()
        return self._grader._checked(submission)

    def refresh(self) -> EpisodeState:
        """Ask the server for the present state."""
        self.state = self._grader._run(self._grader._protocol.episode(self.id))
        return self.state

    def cancel(self) -> EpisodeState:
        """End it and cancel what it has in flight."""
        self.state = EpisodeState.from_json(
            self._grader._run(self._grader._protocol.post(f"/episodes/{self.id}/cancel"))
        )
        return self.state
