"""One episode as it is played: what the policy was told, what it answered, what became of it. Sends nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_grader_client import EpisodeState, Submission
from kernel_grader_client.adapters import extract_code

from train.records import EpisodeRecord, Stamp, TurnRecord
from train.rules import to_read

# graded like any other, so that the verdict on an answer without code is the server's as well
NO_CODE = "# the answer holds no code\n"


@dataclass(frozen=True)
class Opening:
    """What an episode is to be of. `sample` tells those of one task apart."""

    task_id: str
    language: str = "triton"
    max_turns: int | None = None
    seed: int | None = None
    sample: int = 0


@dataclass(frozen=True)
class Answer:
    """What the policy wrote in one turn. `tokens` is its length; `truncated` says that it hit its limit.

    `opened` is what the prompt had begun for it, such as `<think>`.
    """

    text: str
    tokens: int = 0
    truncated: bool = False
    opened: str = ""

    @property
    def code(self) -> str | None:
        """The source in it; None where there is none."""
        return extract_code(self.opened + self.text)


@dataclass
class Play:
    """An open episode. `messages` are prompts and answers in turn; while it is active, the last is a prompt."""

    opening: Opening
    state: EpisodeState
    messages: list[dict[str, str]]
    turns: list[TurnRecord] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    stopped: bool = False

    @classmethod
    def begin(cls, opening: Opening, state: EpisodeState) -> Play:
        return cls(opening, state, [{"role": "user", "content": state.problem}])

    @property
    def prompt(self) -> str:
        """What the policy is to answer next."""
        return self.messages[-1]["content"]

    @property
    def turn(self) -> int:
        """The one that the next answer is for, from 1."""
        return len(self.turns) + 1

    @property
    def active(self) -> bool:
        """Whether another answer is wanted: turns are left, none has failed, and nobody has stopped it."""
        return not (self.stopped or self.failed or self.state.done or self.turn > self.state.max_turns)

    @property
    def failed(self) -> bool:
        return any(turn.failed is not None for turn in self.turns)

    @property
    def rewards(self) -> list[float] | None:
        """By turn; None where one was not graded, so that nothing can be said of the episode."""
        found = [turn.reward for turn in self.turns if turn.reward is not None]
        return found if found and len(found) == len(self.turns) else None

    def answered(self, answer: Answer, ended: Submission | None, failure: str | None) -> None:
        """Keep an answer and its verdict, or why there is none."""
        code = answer.code
        result = ended.result if ended is not None else None
        feedback = result.feedback if result else ""
        graded = ended is not None and ended.graded
        self.messages.append({"role": "assistant", "content": answer.text})
        self.codes.append(code or NO_CODE)
        self.turns.append(
            TurnRecord(
                turn=self.turn,
                submission_id=ended.id if ended else None,
                verdict=ended.verdict if ended else None,
                stage=ended.stage if ended and graded else None,
                reward=ended.reward if ended else None,
                speedup=result.speedup if result else None,
                roofline_frac=result.roofline_frac if result else None,
                suspicious=bool(result and (result.suspicious or result.roofline_violation)),
                rules=tuple(result.rules) if result else (),
                feedback=feedback,
                code_sha256=hashlib.sha256((code or NO_CODE).encode(errors="surrogatepass")).hexdigest(),
                has_code=code is not None,
                tokens=answer.tokens,
                truncated=answer.truncated,
                failed=None if graded else failure or "no verdict",
            )
        )

    def told(self, state: EpisodeState) -> None:
        """Take the episode as the server has it after a verdict: its next prompt, if there is one."""
        self.state = state
        prompt = state.next_prompt
        if self.active and prompt:
            self.messages.append({"role": "user", "content": prompt})
        else:
            self.stopped = True


def record_of(play: Play, stamp: Stamp, return_: float | None, prompt_tokens: int = 0) -> EpisodeRecord:
    """The record of a play. `prompt_tokens` is the length of its first prompt."""
    return EpisodeRecord(
        **vars(stamp),
        episode_id=play.state.id,
        task_id=play.state.task_id,
        level=level_of(play.state.task_id),
        language=play.state.language,
        prompt=play.state.problem,
        seed=play.opening.seed,
        turns=tuple(play.turns),
        return_=return_,
        prompt_tokens=prompt_tokens,
        completion_tokens=sum(turn.tokens for turn in play.turns),
        sample=play.opening.sample,
    )


def suspicious_of(play: Play, stamp: Stamp) -> list[Mapping[str, Any]]:
    """Turns for somebody to read, with their code: impossible or doubtful timings, and sources that rules refused."""
    return [
        {
            "time": stamp.time,
            "step": stamp.step,
            "rank": stamp.rank,
            "phase": stamp.phase,
            "run_id": stamp.run_id,
            "episode_id": play.state.id,
            "task_id": play.state.task_id,
            "turn": turn.turn,
            "submission_id": turn.submission_id,
            "verdict": turn.verdict,
            "reward": turn.reward,
            "speedup": turn.speedup,
            "rules": list(turn.rules),
            "feedback": turn.feedback,
            "code": code,
        }
        for turn, code in zip(play.turns, play.codes, strict=True)
        if turn.suspicious or turn.verdict == "rejected_timing" or to_read(turn.rules)
    ]


def level_of(task_id: str) -> int:
    """The number in `level1/19_ReLU`; 0 for a folder that is no level."""
    found = re.match(r"level(\d+)/", task_id)
    return int(found[1]) if found else 0
