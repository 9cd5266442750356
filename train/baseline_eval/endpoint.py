"""A model behind an address that speaks OpenAI's chat protocol: vLLM, SGLang, llama.cpp, a provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import openai

from train.baseline_eval.models import ModelError, Sampling
from train.plays import Answer, Play

# a long answer of a loaded server takes minutes
TIMEOUT_S = 1800.0
# busy and failing servers are asked again, with growing pauses or as they say themselves
TRIES = 8


class Endpoint:
    """`url` ends before `/chat/completions`, as in http://127.0.0.1:8001/v1; any key will do where none is asked."""

    side_by_side = 1

    def __init__(self, url: str, name: str, sampling: Sampling, key: str = "none", tries: int = TRIES) -> None:
        self._client = openai.OpenAI(base_url=url, api_key=key, timeout=TIMEOUT_S, max_retries=tries - 1)
        self._name = name
        self._sampling = sampling

    def answers(self, plays: Sequence[Play]) -> list[Answer | None]:
        """As `Model` has it."""
        return [self._answer(play) for play in plays]

    def _answer(self, play: Play) -> Answer | None:
        sampling = self._sampling
        asked: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if (seed := sampling.seed_of(play)) is not None:
            asked["seed"] = seed
        if "max_completion_tokens" not in sampling.extra:
            asked["max_tokens"] = sampling.max_tokens
        try:
            told = self._client.chat.completions.create(
                model=self._name,
                messages=sampling.messages(play),  # type: ignore[arg-type]  # plain objects, as they go over the wire
                extra_body=dict(sampling.extra),
                **asked,
            )
        except openai.BadRequestError as error:
            if play.turn > 1:  # what was fine before has grown beyond the model's context
                return None
            raise ModelError(f"{self._client.base_url} refuses the request: {error}") from None
        except openai.OpenAIError as error:
            raise ModelError(f"{self._client.base_url} gave no answer: {error}") from None
        choice = told.choices[0]
        tokens = told.usage.completion_tokens if told.usage else 0
        return Answer(choice.message.content or "", tokens, truncated=choice.finish_reason == "length")
