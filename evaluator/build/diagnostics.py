"""Compilers' output, trimmed to its first errors and mapped to lines of the policy's own source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_ERRORS: Final = 5
_ECHO_LINES: Final = 4
_WINDOW: Final = 3

_ERROR: Final = (
    # g++: main.cpp:12:5: error: text
    re.compile(r"^(?P<file>[^\s:()]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$"),
    # nvcc: cuda.cu(12): error: text
    re.compile(r"^(?P<file>[^\s()]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)$"),
)
_OTHER: Final = re.compile(
    r"^(?:ptxas|nvlink|cicc|nvcc|\S*ld|collect2|g\+\+|cc1plus|\S*\.o)\b.*(?:error|fatal|undefined)", re.I
)
_REQUIRED_FROM: Final = re.compile(r"^(?P<file>[^\s:()]+):(?P<line>\d+):\d+:\s+(?:recursively )?required (?:from|by)")


@dataclass(frozen=True)
class CompilerError:
    """One complaint. `line` counts in `file`, one of the extension's units, or None for the linker's."""

    file: str | None
    line: int | None
    text: str
    echo: tuple[str, ...] = ()


def parse(output: str, files: Mapping[str, str]) -> list[CompilerError]:
    """The errors in a compiler's output; those inside headers name the line of a unit that led there, if one did."""
    found: list[CompilerError] = []
    led_from: tuple[str, int] | None = None
    lines = output.splitlines()
    for index, line in enumerate(lines):
        if (required := _REQUIRED_FROM.match(line)) and Path(required["file"]).name in files:
            led_from = (Path(required["file"]).name, int(required["line"]))
        match = next((match for pattern in _ERROR if (match := pattern.match(line))), None)
        if match:
            name, number = Path(match["file"]).name, int(match["line"])
            at = (name, number) if name in files else led_from
            file, place = at if at else (None, None)
            found.append(CompilerError(file, place, match["text"], _echo(lines[index + 1 :])))
            led_from = None
        elif _OTHER.match(line):
            found.append(CompilerError(None, None, line.strip()))
    return found


def feedback(output: str, files: Mapping[str, str], source: str) -> str:
    """What the policy reads: the first errors, each with the line of its own source where it can be found."""
    errors = parse(output, files)
    if not errors:
        return "\n".join(output.strip().splitlines()[-20:])
    parts = [_describe(error, files, source) for error in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        parts.append(f"... and {len(errors) - MAX_ERRORS} more errors")
    return "\n".join(parts)


def source_line(text: str, number: int, source: str) -> int | None:
    """Where line `number` (from 1) of a unit stands in the Python source; the best of several by its neighbours."""
    unit, lines = text.splitlines(), source.splitlines()
    if not 1 <= number <= len(unit) or not unit[number - 1].strip():
        return None
    wanted = unit[number - 1].strip()
    places = [index for index, line in enumerate(lines) if line.strip() == wanted]
    if not places:
        places = [index for index, line in enumerate(lines) if wanted in line]
    if not places:
        return None

    def likeness(place: int) -> int:
        around = [step for step in range(-_WINDOW, _WINDOW + 1) if step]
        return sum(_line(unit, number - 1 + step) == _line(lines, place + step) for step in around)

    return max(places, key=likeness) + 1


def _line(lines: list[str], index: int) -> str:
    return lines[index].strip() if 0 <= index < len(lines) else ""


def _describe(error: CompilerError, files: Mapping[str, str], source: str) -> str:
    if error.file is None or error.line is None:
        return "\n".join([f"error: {error.text}", *error.echo])
    text = files[error.file]
    own = source_line(text, error.line, source)
    where = f"{error.file} line {error.line}" + (f", line {own} of your source" if own else "")
    code = _line(text.splitlines(), error.line - 1)
    return f"{where}: error: {error.text}" + (f"\n    {code}" if code else "")


def _echo(lines: list[str]) -> tuple[str, ...]:
    kept = []
    for line in lines[:_ECHO_LINES]:
        if not line.strip() or not line[0].isspace():
            break
        kept.append(line.rstrip())
    return tuple(kept)
