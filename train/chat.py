"""A chat template in tokens: what stands before an answer, between it and the next, and behind the last one.

Answers stay the tokens that the policy sampled: a conversation is continued, never rendered again. So what a template
would do to earlier answers (such as removing their thoughts) does not happen, and what was sampled is what is trained.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

THOUGHT = re.compile(r"<(/?)(think|thinking|thought|reasoning)>", re.IGNORECASE)
ANSWER = "ANSWERSTANDSHERE"


class ChatError(ValueError):
    """The tokenizer's template cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Chat:
    """`options` go to the template, such as `enable_thinking`. `eos_ids` are ends of text; ends of turn are found.

    Raises ChatError where the tokenizer has no template, or one that does not show answers as they are.
    """

    tokenizer: Any
    eos_ids: Sequence[int]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not getattr(self.tokenizer, "chat_template", None):
            raise ChatError("the tokenizer has no chat template: set tokenizer.chat_template, or take a chat model")
        if ANSWER not in self._render(_turn("Q", ANSWER), False):
            raise ChatError("the chat template does not show an assistant's answer as it is: take another template")

    @functools.cached_property
    def opened(self) -> str:
        """As `opened_by` has it."""
        return opened_by(self.tokenizer, self.options)

    @functools.cached_property
    def stop_ids(self) -> list[int]:
        """What ends an answer: the ends of text, and the template's end of turn if that is one special token."""
        end = self._encode(self._after_answer([], False))[:1]
        special = set(self.tokenizer.all_special_ids) | set(self.tokenizer.added_tokens_decoder)
        return list(dict.fromkeys([*self.eos_ids, *(token for token in end if token in special)]))

    def prompt(self, text: str) -> list[int]:
        """The tokens before the first answer."""
        return self._encode(self._render([{"role": "user", "content": text}], True))

    def text(self, answer: Sequence[int]) -> str:
        """An answer without the token that ended it."""
        kept = answer[:-1] if answer and answer[-1] in self.stop_ids else answer
        return str(self.tokenizer.decode(list(kept), skip_special_tokens=False))

    def between(self, answer: Sequence[int], prompt: str) -> list[int]:
        """The tokens between an answer and the next one: the rest of its turn, the next prompt, the next header."""
        following = self._encode(self._after_answer([{"role": "user", "content": prompt}], True))
        return self._joined(answer, following)

    def ending(self, answer: Sequence[int]) -> list[int]:
        """The tokens that close the last turn: none, unless the answer was cut off."""
        if answer and answer[-1] in self.stop_ids:
            return []
        closing = self._encode(self._after_answer([], False))[:1] or [self.tokenizer.eos_token_id]
        return self._joined(answer, closing)

    def _joined(self, answer: Sequence[int], following: list[int]) -> list[int]:
        if answer and answer[-1] in self.stop_ids:
            return following[1:] if following[:1] == [answer[-1]] else following
        thought = _open_thought(self.opened + self.text(answer))
        return [*(self._encode(f"\n</{thought[1:-1]}>\n\n") if thought else ()), *following]

    def _after_answer(self, more: Sequence[Mapping[str, str]], header: bool) -> str:
        return self._render([*_turn("Q", ANSWER), *more], header).partition(ANSWER)[2]

    def _render(self, messages: Sequence[Mapping[str, str]], header: bool) -> str:
        return _rendered(self.tokenizer, self.options, messages, header)

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


def opened_by(tokenizer: Any, options: Mapping[str, Any]) -> str:
    """The thought that the template begins for the policy, such as `<think>`; empty where it begins none."""
    asked = [{"role": "user", "content": "Q"}]
    header = _rendered(tokenizer, options, asked, True).removeprefix(_rendered(tokenizer, options, asked, False))
    return _open_thought(header)


def _rendered(tokenizer: Any, options: Mapping[str, Any], messages: Sequence[Mapping[str, str]], header: bool) -> str:
    return str(tokenizer.apply_chat_template(list(messages), add_generation_prompt=header, tokenize=False, **options))


def _turn(prompt: str, answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]


def _open_thought(text: str) -> str:
    """The tag of a thought that is begun and not ended; empty where there is none."""
    tags = list(THOUGHT.finditer(text))
    return f"<{tags[-1][2]}>" if tags and not tags[-1][1] else ""
