"""From a policy's text to the source in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

THOUGHT = "(?:think|thinking|thought|reasoning)"
OPENS = re.compile(rf"<{THOUGHT}>", re.IGNORECASE)
CLOSES = re.compile(rf"</{THOUGHT}>", re.IGNORECASE)
FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`\n]*$")
PYTHON = frozenset({"python", "py", "python3", "triton", "cuda"})
MODEL = re.compile(r"^class\s+ModelNew\b", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What stands between two fences, or between one and the end of a text that was cut off."""

    language: str
    text: str


def extract_code(text: str) -> str | None:
    """The source that a completion answers with; None where it holds none.

    Thoughts do not count (neither those that a prompt opened, nor those that never end). Of several fenced blocks it is
    the last that defines `ModelNew`, else the last one of Python, else the last without a language. Without a fence it
    is the whole answer, if that defines `ModelNew`.
    """
    answer = _without_thoughts(text)
    blocks = list(_blocks(answer))
    for kind in (
        [block for block in blocks if MODEL.search(block.text)],
        [block for block in blocks if block.language in PYTHON],
        [block for block in blocks if not block.language],
    ):
        if kind:
            return kind[-1].text
    return answer.strip() + "\n" if not blocks and MODEL.search(answer) else None


def _without_thoughts(text: str) -> str:
    """What follows the last end of a thought, as far as no other begins."""
    *_, text = CLOSES.split(text)
    begins = OPENS.search(text)
    return text if begins is None else text[: begins.start()]


def _blocks(text: str) -> Iterator[Block]:
    fence = language = ""
    lines: list[str] = []
    for line in text.splitlines():
        found = FENCE.match(line)
        if not fence:
            if found:
                fence, language, lines = found[1], found[2].lower(), []
        elif found and not found[2] and found[1][0] == fence[0] and len(found[1]) >= len(fence):
            yield Block(language, "\n".join(lines) + "\n")
            fence = ""
        else:
            lines.append(line)
    if fence and lines:
        yield Block(language, "\n".join(lines) + "\n")
