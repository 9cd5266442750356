"""One session's episode over the REST API: each source graded once, each answer for the source that asked.

Knows nothing of OpenEnv. A step that takes longer than `answer_s` is answered as `running`; the grade goes on, and the
same source sent again brings it. What is in flight is looked up on the server, so that a new session (after a lost
connection, a time-out, a restart) takes up where the old one was.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

from kernel_grader_client import Conflict, EpisodeState, KernelGrader, Refused, Submission, Unavailable

ANSWER_S = 45.0
AGAIN = "send the same source again"
DETAILS = {
    "not_graded": f"the grader failed, not the kernel; no turn was used up: {AGAIN}",
    "running": f"it is still being graded: {AGAIN} to hear the verdict, which uses up no further turn",
    "busy": f"an earlier source of this episode is still being graded, and this one was not taken: {AGAIN}",
    "over": "the episode has no turn left and the source was not taken: reset",
}


class Misused(Exception):
    """The caller asked for what cannot be; the text says what to do."""


@dataclass(frozen=True)
class Told:
    """What became of a step. `submission` is that of the stepped source, where there is one."""

    outcome: str
    episode: EpisodeState
    submission: Submission | None = None
    code_sha: str | None = None
    detail: str = ""


def sha_of(code: str) -> str:
    """As the server names a source."""
    return hashlib.sha1(code.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()[:12]


class Session:
    """`grader` must not raise on failure. Not for several threads at once."""

    def __init__(self, grader: KernelGrader, answer_s: float = ANSWER_S) -> None:
        self._grader = grader
        self.answer_s = answer_s
        self.episode: EpisodeState | None = None
        self._pending: Submission | None = None  # taken by the server, its end not told yet
        self._told: set[str] = set()
        self._sure = True  # whether `_pending` is all that can be in flight

    def open(self, **options: Any) -> Told:
        """Begin a new episode. What an abandoned one has in flight is graded all the same."""
        self.episode = self._grader.episode(**options).state
        self._pending, self._sure = None, True
        return Told("reset", self.episode)

    def resume(self, episode_id: str) -> Told:
        """Take up an episode that is there. Raises NotFound."""
        self.episode = self._grader.resume(episode_id).state
        self._pending, self._sure = None, False
        return Told("reset", self.episode)

    def step(self, code: str, turn: int | None = None) -> Told:
        """The verdict on a source, or why there is none yet. Raises Misused, Refused."""
        if self.episode is None:
            raise Misused("there is no episode yet: reset first, with episode_id= to take one up again")
        sha, until = sha_of(code), time.monotonic() + self.answer_s
        try:
            try:
                return self._earlier(sha, turn, until) or self._new(code, sha, turn, until)
            except Conflict:  # another session of this episode was faster, such as the one before a lost connection
                return self._earlier(sha, turn, until) or self._new(code, sha, turn, until)
        except Unavailable as error:
            return Told("unavailable", self.episode, None, sha, f"the grader cannot be reached: {AGAIN} ({error})")

    def _earlier(self, sha: str, turn: int | None, until: float) -> Told | None:
        """The answer where this source was sent before, or must wait for one that was."""
        if not self._sure:
            self._look_up()
        if self._pending is not None:
            ended = self._grader.wait(self._pending, max(until - time.monotonic(), 0.0))
            same = ended.code_sha == sha and turn in (None, ended.turn)
            if not ended.finished:
                return self._say("running", sha, ended) if same else self._say("busy", sha)
            self._end(ended)
            if same:
                return self._ended(ended, sha)
        return self._past(sha, turn)

    def _past(self, sha: str, turn: int | None) -> Told | None:
        """The verdict of a turn that is named and over. Raises Misused where that turn was another source's."""
        episode = self._present()
        for past in episode.history:
            if past.turn == turn:
                if past.code_sha != sha:
                    raise Misused(f"turn {turn} was used up by another source; the episode is at turn {episode.turn}")
                return self._ended(self._grader.submission(past.submission_id), sha)
        if turn is not None and turn != episode.turn:
            raise Misused(f"the episode is at turn {episode.turn}, not {turn}")
        return None

    def _new(self, code: str, sha: str, turn: int | None, until: float) -> Told:
        episode = self._present()
        if episode.done:
            return self._say("over", sha)
        self._sure = False  # until the server has said what became of it
        try:
            sent = self._grader.submit(code, episode_id=episode.id, turn=episode.turn)
        except Refused as error:
            self._sure = not isinstance(error, Conflict)  # a conflict means that something else is in flight
            raise
        self._pending, self._sure = sent, True
        ended = self._grader.wait(sent, max(until - time.monotonic(), 0.0))
        if not ended.finished:
            return self._say("running", sha, ended)
        self._end(ended)
        return self._ended(ended, sha)

    def _look_up(self) -> None:
        """The newest submission of the episode is pending, unless this session has told its end already."""
        episode = self._present()
        newest = next(iter(self._grader.submissions(episode_id=episode.id, limit=1)), None)
        self.episode = self._grader.resume(episode.id).state
        self._pending = None if newest is None or newest.id in self._told else newest
        self._sure = True

    def _end(self, ended: Submission) -> None:
        self.episode = self._grader.resume(self._present().id).state
        self._told.add(ended.id)
        self._pending = None

    def _ended(self, ended: Submission, sha: str) -> Told:
        return self._say("graded" if ended.graded else "not_graded", sha, ended)

    def _say(self, outcome: str, sha: str, submission: Submission | None = None) -> Told:
        detail = DETAILS.get(outcome, "")
        if submission is not None and submission.failure is not None:
            detail = f"{detail} ({submission.failure})"
        return Told(outcome, self._present(), submission, sha, detail)

    def _present(self) -> EpisodeState:
        assert self.episode is not None
        return self.episode
