"""Text of a policy, made fit to be shown: it is hostile by assumption, in HTML as in Markdown.

HTML is escaped by the template. What is left are characters that no escape changes: those that a page does not show, or
that turn the order of others around, so that somebody reads another source than was graded.
"""

from __future__ import annotations

import re
import unicodedata

LINES_MAX = 200
WIDTH_MAX = 400
# what has a meaning in the middle of a line, and what makes an address a link
MARKUP = re.compile(r"([\\`*_{}\[\]<>|&~$@#!^=]|:(?=//)|(?<=www)\.)")


def visible(text: str) -> str:
    """Controls, marks of direction and the like as `\\u202e`; line breaks and tabs stay. Cut where it is long."""
    lines = text.replace("\r\n", "\n").split("\n")
    shown = [_visible_line(line) for line in lines[:LINES_MAX]]
    if len(lines) > LINES_MAX:
        shown.append(f"… and {len(lines) - LINES_MAX} more lines")
    return "\n".join(shown)


def _visible_line(line: str) -> str:
    more = f" … and {len(line) - WIDTH_MAX} more characters" if len(line) > WIDTH_MAX else ""
    return "".join(map(_visible_character, line[:WIDTH_MAX])) + more


def _visible_character(character: str) -> str:
    # C: controls, formats, surrogates, private and unassigned; Zl, Zp: separators that end lines
    category = unicodedata.category(character)
    if character != "\t" and (category[0] == "C" or category in ("Zl", "Zp")):
        code = ord(character)
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def fenced(text: str, language: str = "") -> str:
    """A Markdown code block that nothing in the text can end."""
    shown = visible(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def inline(text: str) -> str:
    """For a line or a table's cell of Markdown, as plain text."""
    return MARKUP.sub(r"\\\1", visible(text).replace("\n", " "))
