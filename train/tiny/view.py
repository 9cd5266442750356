"""An episode for people: which of its tokens the policy wrote, and which it was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.markup import escape

WIDTH = 60


def transcript(tokenizer: Any, rollouts: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Lines about the first of the rollouts, as the trainer got them."""
    ids, mask = rollouts["completion_ids"][0], rollouts["env_mask"][0]
    yield "An episode, token by token; only those marked [green]trained[/green] carry a gradient:"
    for token, trained in zip(tokenizer.convert_ids_to_tokens(ids), mask, strict=True):
        text = escape(repr(token)[1:-1][:WIDTH])
        yield f"  [green]trained  {text}[/green]" if trained else f"  given    {text}"
