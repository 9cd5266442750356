"""A model of transformers, from a folder or a hub, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from train.baseline_eval.models import ModelError, Sampling
from train.chat import opened_by
from train.plays import Answer, Play


class Local:
    """Answers `side_by_side` conversations in one batch. `extra` of the sampling goes to the chat template."""

    def __init__(self, path: str, sampling: Sampling, side_by_side: int = 8, device: str | None = None) -> None:
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(path, padding_side="left")
            self._model: Any = AutoModelForCausalLM.from_pretrained(path, dtype="auto")
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be loaded as a model of transformers: {error}") from None
        self.side_by_side = side_by_side
        self._sampling = sampling
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(self._device).eval()
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._opened = opened_by(self._tokenizer, sampling.extra) if self._tokenizer.chat_template else ""
        self._room = getattr(self._model.config, "max_position_embeddings", None)

    def answers(self, plays: Sequence[Play]) -> list[Answer | None]:
        """As `Model` has it. One seed, that of the first, draws a whole batch."""
        prompts = [self._prompt(play) for play in plays]
        fits = [at for at, prompt in enumerate(prompts) if self._fits(prompt)]
        if not fits and plays[0].turn == 1:
            raise ModelError(
                f"the prompt and {self._sampling.max_tokens} tokens do not fit into the model's {self._room}: "
                "give --max-tokens less"
            )
        found: list[Answer | None] = [None] * len(plays)
        if fits:
            if (seed := self._sampling.seed_of(plays[fits[0]])) is not None:
                torch.manual_seed(seed)
            for at, answer in zip(fits, self._generate([prompts[at] for at in fits]), strict=True):
                found[at] = answer
        return found

    def _prompt(self, play: Play) -> str:
        messages = self._sampling.messages(play)
        if self._tokenizer.chat_template is None:
            return "\n\n".join(message["content"] for message in messages) + "\n"
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **self._sampling.extra
            )
        )

    def _fits(self, prompt: str) -> bool:
        return self._room is None or self._length(prompt) + self._sampling.max_tokens <= self._room

    def _length(self, prompt: str) -> int:
        return len(self._tokenizer(prompt, add_special_tokens=False)["input_ids"])

    def _generate(self, prompts: Sequence[str]) -> list[Answer]:
        # a chat template has written the special tokens already
        given = self._tokenizer(list(prompts), return_tensors="pt", padding=True, add_special_tokens=False)
        drawn: dict[str, Any] = {"do_sample": False}
        if self._sampling.temperature > 0:
            drawn = {"do_sample": True, "temperature": self._sampling.temperature, "top_p": self._sampling.top_p}
        with torch.inference_mode():
            rows = self._model.generate(
                **given.to(self._device),
                max_new_tokens=self._sampling.max_tokens,
                pad_token_id=self._tokenizer.pad_token_id,
                **drawn,
            )
        begin = given["input_ids"].shape[1]
        return [self._answer(row[begin:].tolist()) for row in rows]

    def _answer(self, tokens: list[int]) -> Answer:
        ends = self._model.generation_config.eos_token_id
        ends = {self._tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}
        length = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
        text = self._tokenizer.decode(tokens[:length], skip_special_tokens=True)
        return Answer(text, length, truncated=not tokens or tokens[length - 1] not in ends, opened=self._opened)
