"""TRL's `rollout_func`: an episode per row, the turn of all of them sampled together and graded through one batch."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from kernel_grader_client import KernelGrader

from train import metrics
from train.chat import Chat
from train.episodes import TRIES, Episodes
from train.generation import sample
from train.plays import Answer, Opening, Play, record_of, suspicious_of
from train.recording import Recorder
from train.records import EpisodeRecord, Stamp, now
from train.returns import RETURNS, ReturnMode, return_of
from train.settings import SettingsError, at_least
from train.transcript import Transcript

RETURN = "kernel_return"
Say = Callable[[str], None]


@dataclass(frozen=True)
class RolloutSettings:
    """How episodes are played. `turn_tokens` bounds an answer, `context_tokens` a whole episode.

    `sample_at_once` is how many answers are sampled side by side. `item` is what else is said of each source that is
    graded, such as `priority`, `gpu`, `deadline_s` or `dedupe`.
    """

    run_id: str
    context_tokens: int
    turn_tokens: int = 2048
    language: str = "triton"
    max_turns: int = 4
    return_mode: ReturnMode = "discounted"
    discount: float = 0.9
    sample_at_once: int = 64
    tries: int = TRIES
    template: Mapping[str, Any] = field(default_factory=dict)
    item: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        at_least(self, 1, "turn_tokens", "max_turns", "sample_at_once", "tries")
        if not 0 <= self.discount <= 1:
            raise SettingsError(f"discount: from 0 to 1, not {self.discount:g}")
        if self.return_mode not in RETURNS:
            raise SettingsError(f"return_mode: one of {', '.join(RETURNS)}, not {self.return_mode!r}")
        if self.turn_tokens >= self.context_tokens:
            raise SettingsError(
                f"turn_tokens: {self.turn_tokens} leave no room for a prompt in context_tokens {self.context_tokens}: "
                "lower the one or raise the other"
            )


class PromptTooLong(ValueError):
    """A task's prompt leaves no room for an answer; the text names the task, the numbers and what to change."""


class KernelRollouts:
    """Give an object as `rollout_func` and its `reward` as the one reward function.

    The trainer's prompts are task ids: what the policy is told comes from the server, when the episode is opened.
    Records go to `folder`, a file per rank. Use it in a `with` block, or close it.
    """

    def __init__(self, grader: KernelGrader, settings: RolloutSettings, folder: Path, say: Say | None = None) -> None:
        self._settings = settings
        self._folder = folder
        self._say = say or (lambda text: None)
        self._ended = self._sent = 0
        self._recorder: Recorder | None = None
        self._records: list[EpisodeRecord] = []
        self._seconds: dict[str, float] = defaultdict(float)
        self._episodes = Episodes(
            grader, run_id=settings.run_id, tries=settings.tries, on_ended=self._one_ended, **settings.item
        )

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Play an episode for each prompt. Raises PromptTooLong, Refused, Unavailable."""
        settings = self._settings
        chat = Chat(trainer.processing_class, trainer.eos_token_ids, settings.template)
        self._seconds.clear()
        plays = self._episodes.open(self._openings(prompts))
        transcripts = [Transcript(chat.prompt(play.prompt)) for play in plays]
        self._check_room(plays, transcripts)
        while active := [at for at, play in enumerate(plays) if play.active]:
            answers = self._sample(trainer, chat, [transcripts[at] for at in active])
            self._grade([plays[at] for at in active], [self._answer(chat, tokens) for tokens in answers])
            for at, tokens in zip(active, answers, strict=True):
                self._go_on(chat, plays[at], transcripts[at], tokens)
        self._records = self._record(plays, transcripts, trainer)
        return {
            "prompt_ids": [one.prompt for one in transcripts],
            "completion_ids": [one.completion for one in transcripts],
            "env_mask": [one.mask for one in transcripts],
            "logprobs": None,  # the trainer computes those of the policy as it was when it sampled
            RETURN: [record.return_ for record in self._records],
        }

    def reward(
        self, *, kernel_return: list[float | None], log_metric: metrics.Log, **columns: Any
    ) -> list[float | None]:
        """What the episodes were worth; None, never 0, for those that could not be graded. Logs `kernel/*`."""
        metrics.log(self._records, log_metric)
        for what, seconds in self._seconds.items():
            log_metric(f"kernel/{what}_s", seconds)
        return kernel_return

    def __enter__(self) -> KernelRollouts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()

    def _openings(self, prompts: Sequence[str]) -> list[Opening]:
        seen: Counter[str] = Counter()
        found = []
        for task_id in prompts:
            found.append(Opening(task_id, self._settings.language, self._settings.max_turns, sample=seen[task_id]))
            seen[task_id] += 1
        return found

    def _check_room(self, plays: Sequence[Play], transcripts: Sequence[Transcript]) -> None:
        settings = self._settings
        for play, transcript in zip(plays, transcripts, strict=True):
            if len(transcript.prompt) + settings.turn_tokens > settings.context_tokens:
                raise PromptTooLong(
                    f"{play.state.task_id}: its prompt has {len(transcript.prompt)} tokens, and with turn_tokens "
                    f"{settings.turn_tokens} it exceeds context_tokens {settings.context_tokens}: lower the one or "
                    "raise the other, as far as the model's positions go"
                )

    def _sample(self, trainer: Any, chat: Chat, transcripts: Sequence[Transcript]) -> list[list[int]]:
        self._say(f"sampling {len(transcripts)} answers")
        started = time.monotonic()
        found = sample(
            trainer,
            [one.tokens for one in transcripts],
            stop_ids=chat.stop_ids,
            tokens=self._settings.turn_tokens,
            at_once=self._settings.sample_at_once,
        )
        self._seconds["sampling"] += time.monotonic() - started
        return found

    def _answer(self, chat: Chat, tokens: Sequence[int]) -> Answer:
        truncated = tokens[-1] not in chat.stop_ids
        return Answer(chat.text(tokens), tokens=len(tokens), truncated=truncated, opened=chat.opened)

    def _grade(self, plays: Sequence[Play], answers: Sequence[Answer]) -> None:
        self._ended, self._sent = 0, len(plays)
        started = time.monotonic()
        self._episodes.grade(plays, answers)
        self._seconds["grading"] += time.monotonic() - started

    def _one_ended(self, play: Play) -> None:
        self._ended += 1
        self._say(f"graded {self._ended} of {self._sent}, turn {play.turn}")

    def _go_on(self, chat: Chat, play: Play, transcript: Transcript, answer: Sequence[int]) -> None:
        """Add an answer to the transcript, and what stands between it and the next, where there is room for another."""
        transcript.wrote(answer)
        following = chat.between(answer, play.prompt) if play.active else []
        room = len(transcript.tokens) + len(following) + self._settings.turn_tokens <= self._settings.context_tokens
        play.stopped = play.stopped or not room
        transcript.given(following if play.active else chat.ending(answer))

    def _record(self, plays: Sequence[Play], transcripts: Sequence[Transcript], trainer: Any) -> list[EpisodeRecord]:
        settings = self._settings
        if self._recorder is None:
            self._recorder = Recorder(self._folder, trainer.accelerator.process_index)
        stamp = Stamp(
            time=now(),
            session=self._recorder.session,
            step=trainer.state.global_step,
            rank=self._recorder.rank,
            phase="train" if trainer.model.training else "eval",
            run_id=settings.run_id,
        )
        records = [
            record_of(
                play, stamp, return_of(play.rewards, settings.return_mode, settings.discount), len(transcript.prompt)
            )
            for play, transcript in zip(plays, transcripts, strict=True)
        ]
        self._recorder.write(records)
        self._recorder.write_suspicious([entry for play in plays for entry in suspicious_of(play, stamp)])
        return records
